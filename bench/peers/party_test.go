package peers

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/otlpgw/otlpgw/bench"
)

// party is somebody who turns the bytes of a request into series.
type party struct {
	name string
	// samples is what every request must become, target_info included where the
	// party makes it.
	samples int
	// prepare is called before each turn, if not nil.
	prepare func() error
	// push converts one request. It is what is timed.
	push func(body []byte) error
	// count converts one request too, and returns what came out.
	count func(body []byte) (tally, error)
	// hits returns how many points were found by their raw bytes so far. It is
	// nil for those who remember nothing between requests.
	hits func() (float64, error)
	// sent returns the size in bytes of the last message; nil if none is made.
	sent func() int

	ms       int64 // the time of the last request, after firstMs
	requests int   // in a turn
	took     []turn
}

// tally is how many samples there are of each metric name.
type tally map[string]int

// turn is what one request cost, on average of the turn: seconds of time, and
// of the process's processor time.
type turn struct{ seconds, cpu, bytes, allocs float64 }

// minTurn is how long a turn takes at least: several garbage collections of
// those who need them.
const minTurn = 100 * time.Millisecond

// next returns the corpus a second later.
func (p *party) next(corpus *bench.Corpus) []byte {
	p.ms += 1000
	return corpus.At(firstMs + p.ms)
}

// counted converts one request and counts what comes out.
func (p *party) counted(corpus *bench.Corpus) error {
	made, err := p.count(p.next(corpus))
	if err != nil {
		return err
	}
	total := 0
	for name, n := range made {
		if strings.Contains(name, ".") {
			return fmt.Errorf("%s is not translated", name)
		}
		total += n
	}
	if total != p.samples {
		return fmt.Errorf("%d samples came out, not %d", total, p.samples)
	}
	return nil
}

// warm gets the party past the first sight of each series.
func (p *party) warm(corpus *bench.Corpus) error {
	if p.prepare != nil {
		if err := p.prepare(); err != nil {
			return err
		}
	}
	for range 3 {
		if err := p.counted(corpus); err != nil {
			return err
		}
	}
	return nil
}

// pace finds out how many requests make a turn.
func (p *party) pace(corpus *bench.Corpus) error {
	for start := time.Now(); time.Since(start) < minTurn; p.requests++ {
		if err := p.push(p.next(corpus)); err != nil {
			return err
		}
	}
	return nil
}

// turn measures the party once.
func (p *party) turn(corpus *bench.Corpus) error {
	if p.prepare != nil {
		if err := p.prepare(); err != nil {
			return err
		}
	}
	runtime.GC()
	// This one also fills the pools again.
	if err := p.counted(corpus); err != nil {
		return err
	}
	var hits float64
	if p.hits != nil {
		var err error
		if hits, err = p.hits(); err != nil {
			return err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, startCPU := time.Now(), cpuTime()
	for range p.requests {
		if err := p.push(p.next(corpus)); err != nil {
			return err
		}
	}
	took, tookCPU := time.Since(start), cpuTime()-startCPU
	runtime.ReadMemStats(&after)
	if p.hits != nil {
		now, err := p.hits()
		if err != nil {
			return err
		}
		if want := float64(p.requests * corpus.Points); now-hits != want {
			return fmt.Errorf("%v of %v points were found in the cache: this is not the warm path", now-hits, want)
		}
	}
	n := float64(p.requests)
	p.took = append(p.took, turn{
		seconds: took.Seconds() / n,
		cpu:     tookCPU.Seconds() / n,
		bytes:   float64(after.TotalAlloc-before.TotalAlloc) / n,
		allocs:  float64(after.Mallocs-before.Mallocs) / n,
	})
	return nil
}

// cpuTime returns the processor time that the process has used, garbage
// collection included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // The arguments are right.
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
