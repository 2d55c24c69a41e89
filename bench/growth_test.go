package bench

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
)

// BenchmarkGrowth measures warm requests by how many series are cached. The
// targets are visited in random order, so that with many of them nothing that
// a request touches is in the processor's caches. Prometheus's handler gets the
// same sequence of requests, and a small instance of this one takes turns with
// the large: pct-of-10k is what is left of its throughput.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { growth(b, n) })
	}
}

func growth(b *testing.B, seriesCached int) {
	oneCore(b)
	s := shape("sdk")
	small, one, two := newRoamer(s, 10_000), newRoamer(s, seriesCached), newRoamer(s, seriesCached)
	little, ours, theirs := newProduct(b), newProduct(b), newPeer()
	small.tour(b, little.handler)
	one.tour(b, ours.handler)
	two.tour(b, theirs)

	warm := ours.watch(b)
	m := play(b, one.contender(b, "otlpgw", ours.handler), two.contender(b, "prometheus", theirs), small.contender(b, "otlpgw-10k", little.handler))
	warm.want(b, m.requests[0]*one.corpus.Points, 0)
	m.against(b)
	b.ReportMetric(100*m.times(0, 2, nsOf), "pct-of-10k")
	b.ReportMetric(ours.metric(b, "otlpgw_series_cache_entries"), "series")
}

// roamer sends the request of another target each time.
type roamer struct {
	*client
	rnd     *rand.Rand
	targets int
}

// newRoamer returns one for as many targets as have so many series, or one
// more. Two of them visit the same targets in the same order.
func newRoamer(s Shape, seriesCached int) *roamer {
	c := newClient(s.New(0))
	return &roamer{c, rand.New(rand.NewPCG(1, 2)), (seriesCached + c.corpus.Samples - 1) / c.corpus.Samples}
}

// tour visits all targets.
func (r *roamer) tour(tb testing.TB, h http.Handler) {
	for i := range r.targets {
		r.corpus.Seed(i)
		r.send(tb, h)
	}
}

func (r *roamer) contender(tb testing.TB, name string, h http.Handler) contender {
	return contender{
		name: name, samples: r.corpus.Samples, long: 5 * turnTime,
		next: func() {
			r.corpus.Seed(r.rnd.IntN(r.targets))
			r.next()
		},
		send: func() { r.post(tb, h) },
	}
}
