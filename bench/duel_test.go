package bench

import (
	"flag"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	// begin, if not nil, comes before every turn, and a turn is so many requests.
	begin    func()
	requests int
}

// score is what a contender needed, per request.
type score struct {
	ns, bytes, allocs float64
	requests          int
}

const (
	// turnTime is how long a contender is measured before the other's turn.
	turnTime = 20 * time.Millisecond
	// minRounds is how many turns each has at least.
	minRounds = 5
)

// turn measures requests for turnTime, or as many as the contender says. It
// begins with a heap that holds nobody's garbage, so that each contender pays
// for its own. What is garbage at the end of a turn costs nobody anything,
// which is to the advantage of who makes more of it.
func (c *contender) turn() score {
	if c.begin != nil {
		c.begin()
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var took time.Duration
	n := 0
	for took < turnTime && c.requests == 0 || n < c.requests {
		c.next()
		start := time.Now()
		c.send()
		took += time.Since(start)
		n++
	}
	runtime.ReadMemStats(&after)
	return score{
		ns:       float64(took.Nanoseconds()) / float64(n),
		bytes:    float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		allocs:   float64(after.Mallocs-before.Mallocs) / float64(n),
		requests: n,
	}
}

// duel lets two contenders do the same work in turns, a round being one turn
// of each, and reports what each of them needed and how many times as much
// the second did: medians over the rounds. Rounds is how many there are; zero
// leaves it to -benchtime. It returns how many requests each of them did.
func duel(b *testing.B, rounds int, one, two contender) (requests [2]int) {
	b.Helper()
	var scores [2][]score
	var ratios []float64
	round := func() {
		x, y := one.turn(), two.turn()
		scores[0], scores[1] = append(scores[0], x), append(scores[1], y)
		ratios = append(ratios, y.ns/x.ns)
		requests[0] += x.requests
		requests[1] += y.requests
	}
	for n := 0; b.Loop(); n++ {
		if rounds == 0 || n < rounds {
			round()
		}
	}
	for len(ratios) < max(rounds, minRounds) {
		round()
	}
	var bytes [2]float64
	for i, c := range []contender{one, two} {
		b.ReportMetric(float64(c.samples)*1e9/medianOf(scores[i], func(s score) float64 { return s.ns }), c.name+"-samples/s")
		bytes[i] = medianOf(scores[i], func(s score) float64 { return s.bytes })
		b.ReportMetric(bytes[i], c.name+"-B/op")
		b.ReportMetric(medianOf(scores[i], func(s score) float64 { return s.allocs }), c.name+"-allocs/op")
	}
	b.ReportMetric(median(ratios), "x-"+two.name)
	b.ReportMetric(100*bytes[0]/bytes[1], "pct-B-of-"+two.name)
	b.ReportMetric(0, "ns/op")
	return requests
}

func medianOf(scores []score, what func(score) float64) float64 {
	values := make([]float64, len(scores))
	for i, s := range scores {
		values[i] = what(s)
	}
	return median(values)
}

// median sorts values and returns the middle one.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// oneCore runs the rest of b on one processor. With several -cpu only the first
// measures it.
func oneCore(b *testing.B) { onCores(b, 1) }

// onCores runs the rest of b on n processors.
func onCores(b *testing.B, n int) {
	b.Helper()
	first, _, several := strings.Cut(flag.Lookup("test.cpu").Value.String(), ",")
	if several && strconv.Itoa(runtime.GOMAXPROCS(0)) != first {
		b.Skip("measured with the first of -cpu")
	}
	before := runtime.GOMAXPROCS(n)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}
