package bench

import (
	"net/http"
	"testing"
)

// coldSeries is how many new series a handler gets in a turn. It begins each
// with nothing, so that the memory that it pays for is its own.
const coldSeries = 150_000

// BenchmarkCold measures the first sight of series against Prometheus's
// handler on the same bytes: every point of every request has attributes that
// were never seen, of a known target (points) or of one that is new as well
// (targets).
func BenchmarkCold(b *testing.B) {
	for _, s := range Shapes {
		s.Churn = 1
		b.Run("points/"+s.Name, func(b *testing.B) { cold(b, s, (*Corpus).Renew) })
		b.Run("targets/"+s.Name, func(b *testing.B) { cold(b, s, (*Corpus).Seed) })
	}
}

func cold(b *testing.B, s Shape, renew func(*Corpus, int)) {
	oneCore(b)
	one, two := newClient(s.New(0)), newClient(s.New(0))
	n := coldSeries / one.corpus.Samples

	var ours *product
	var before path
	var theirs http.Handler
	renewed := [2]int{}
	duel(b, 0, contender{
		name: "otlpgw", samples: one.corpus.Samples, requests: n,
		begin: func() {
			theirs, ours = nil, newProduct(b)
			before = ours.watch(b)
		},
		next: func() {
			renewed[0]++
			renew(one.corpus, renewed[0])
			one.next()
		},
		send: func() { one.post(b, ours.handler) },
	}, contender{
		name: "prometheus", samples: two.corpus.Samples, requests: n,
		begin: func() {
			before.want(b, 0, n*one.corpus.Points)
			ours, before.p, theirs = nil, nil, newPeer()
		},
		next: func() {
			renewed[1]++
			renew(two.corpus, renewed[1])
			two.next()
		},
		send: func() { two.post(b, theirs) },
	})
}
