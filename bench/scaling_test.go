package bench

import (
	"runtime"
	"sync"
	"testing"
)

// BenchmarkScaling runs two senders at once, on one processor and on two, in
// turns: what the second processor is worth (x-scaling) when each sender is a
// target of its own (distinct), and when both send for one target, whose
// requests are converted one after the other (shared: not below 1).
func BenchmarkScaling(b *testing.B) {
	for _, name := range []string{"sdk", "batch"} {
		s := shape(name)
		b.Run("distinct/"+s.Name, func(b *testing.B) { scaling(b, s, false) })
		b.Run("shared/"+s.Name, func(b *testing.B) { scaling(b, s, true) })
	}
}

func scaling(b *testing.B, s Shape, shared bool) {
	once(b)
	onCores(b, 2)
	if runtime.NumCPU() < 2 {
		b.Skip("this machine has one processor")
	}
	p := newProduct(b)
	clients := []*client{newClient(s.New(0)), newClient(s.New(1))}
	if shared {
		clients[1].share(clients[0])
	}
	samples := clients[0].corpus.Samples
	each := max(1, 100_000/samples)
	var wg sync.WaitGroup
	burst := func() {
		for _, c := range clients {
			wg.Go(func() {
				for range each {
					c.send(b, p.handler)
				}
			})
		}
		wg.Wait()
	}
	for _, c := range clients { // One by one: who comes first brings the refs.
		c.send(b, p.handler)
	}
	burst()
	warm := p.watch(b)
	on := func(procs int, name string) contender {
		return contender{
			name: name, samples: len(clients) * each * samples, long: 5 * turnTime,
			begin: func() { runtime.GOMAXPROCS(procs) },
			next:  func() {},
			send:  burst,
		}
	}
	m := play(b, on(2, "two"), on(1, "one"))
	warm.want(b, (m.requests[0]+m.requests[1])*len(clients)*each*clients[0].corpus.Points, 0)
	m.report(b)
	b.ReportMetric(m.times(0, 1, nsOf), "x-scaling")
}

// share makes a client send for the target of another: no two of their requests
// have points of one time, and those of later ones are later but for what is
// being sent at once.
func (c *client) share(with *client) {
	c.corpus.Seed(0)
	c.clock = with.clock
}

// BenchmarkShared is BenchmarkHandler with all goroutines sending for one
// target.
func BenchmarkShared(b *testing.B) {
	for _, s := range Shapes {
		b.Run(s.Name, func(b *testing.B) {
			p := newProduct(b)
			clients := crowd(b, s, p.handler)
			for _, c := range clients {
				c.share(clients[0])
			}
			warm := p.watch(b)
			parallel(b, clients, p.handler)
			warm.want(b, b.N*clients[0].corpus.Points, 0)
		})
	}
}
