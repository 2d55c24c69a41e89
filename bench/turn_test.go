package bench

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// contender is one way of doing a piece of work.
type contender struct {
	name string
	// next makes a request ready, which is not timed; send does the work.
	next, send func()
	// samples are those of one request.
	samples int
	// begin and end, if not nil, come before and after every turn.
	begin, end func()
	// A turn is so many requests or, if that is zero, takes so long, by default
	// turnTime.
	requests int
	long     time.Duration
}

// score is what a contender needed in one turn, per request. Cpu is the time
// of all the process's threads in ns, what next takes included: it does not
// count the time for which a busy machine gave the processor to somebody else.
type score struct {
	ns, cpu, bytes, allocs float64
}

const (
	turnTime = 20 * time.Millisecond
	// minRounds is how many turns each has at least.
	minRounds = 5
)

// turn measures requests. It begins with a heap that holds nobody's garbage,
// so that each contender pays for its own. What is garbage at the end of a
// turn costs nobody anything, which is to the advantage of who makes more. The
// collection has emptied the pools, so a first request is not measured unless
// the contender says how many it wants. Requests counts all.
func (c *contender) turn() (s score, requests int) {
	if c.begin != nil {
		c.begin()
	}
	long := c.long
	if long == 0 {
		long = turnTime
	}
	runtime.GC()
	if c.requests == 0 {
		c.next()
		c.send()
		requests++
	}
	unmeasured := requests
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := processTime()
	var took time.Duration
	for c.requests == 0 && took < long || requests < c.requests {
		c.next()
		start := time.Now()
		c.send()
		took += time.Since(start)
		requests++
	}
	cpu = processTime() - cpu
	runtime.ReadMemStats(&after)
	if c.end != nil {
		c.end()
	}
	n := float64(requests - unmeasured)
	return score{
		ns:     float64(took.Nanoseconds()) / n,
		cpu:    float64(cpu.Nanoseconds()) / n,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
		allocs: float64(after.Mallocs-before.Mallocs) / n,
	}, requests
}

// match is the scores of contenders that took turns, by contender and round.
type match struct {
	contenders []contender
	scores     [][]score
	// requests is how many each of them did.
	requests []int
}

// play lets contenders do the same work in turns until the benchmark's time is
// over, and for at least minRounds rounds of one turn each.
func play(b *testing.B, contenders ...contender) *match {
	b.Helper()
	m := &match{contenders, make([][]score, len(contenders)), make([]int, len(contenders))}
	round := func() {
		for i := range contenders {
			s, n := contenders[i].turn()
			m.scores[i] = append(m.scores[i], s)
			m.requests[i] += n
		}
	}
	for b.Loop() {
		round()
	}
	for len(m.scores[0]) < minRounds {
		round()
	}
	return m
}

// median returns the median of one figure of a contender.
func (m *match) median(i int, what func(score) float64) float64 {
	values := make([]float64, len(m.scores[i]))
	for n, s := range m.scores[i] {
		values[n] = what(s)
	}
	return median(values)
}

// processTime returns the processor time that this process has used.
func processTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // Only a wrong argument makes it fail.
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func cpuOf(s score) float64    { return s.cpu }
func bytesOf(s score) float64  { return s.bytes }
func allocsOf(s score) float64 { return s.allocs }
func nsOf(s score) float64     { return s.ns }

// times returns how many times what contender i needs for a sample contender j
// needs: the median over the rounds.
func (m *match) times(i, j int, what func(score) float64) float64 {
	values := make([]float64, len(m.scores[i]))
	for n := range values {
		values[n] = what(m.scores[j][n]) / what(m.scores[i][n]) * float64(m.contenders[i].samples) / float64(m.contenders[j].samples)
	}
	return median(values)
}

// report prints what each contender needed, as medians.
func (m *match) report(b *testing.B) {
	for i, c := range m.contenders {
		b.ReportMetric(float64(c.samples)*1e9/m.median(i, nsOf), c.name+"-samples/s")
		b.ReportMetric(m.median(i, bytesOf), c.name+"-B/op")
		b.ReportMetric(m.median(i, allocsOf), c.name+"-allocs/op")
	}
	b.ReportMetric(0, "ns/op")
}

// against prints how this handler, the first contender, compares with
// Prometheus's, the second.
func (m *match) against(b *testing.B) {
	m.report(b)
	b.ReportMetric(m.times(0, 1, nsOf), "x-prometheus")
	b.ReportMetric(m.times(0, 1, cpuOf), "x-prometheus-cpu")
	b.ReportMetric(100*m.median(0, bytesOf)/m.median(1, bytesOf), "pct-B-of-prometheus")
}

// median sorts values and returns the middle one.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
