package bench

import (
	"net/http"
	"testing"
)

// How many series the requests of one turn have: all of them new, or one in
// ten.
const (
	coldSeries  = 150_000
	churnSeries = 350_000
)

// BenchmarkCold measures the first sight of series against Prometheus's
// handler on the same bytes: every point of every request has attributes that
// were never seen, of a known target (points) or of one that is new as well
// (targets).
func BenchmarkCold(b *testing.B) {
	for _, s := range Shapes {
		s.Churn = 1
		b.Run("points/"+s.Name, func(b *testing.B) { renewed(b, s, coldSeries, (*Corpus).Renew) })
		b.Run("targets/"+s.Name, func(b *testing.B) { renewed(b, s, coldSeries, (*Corpus).Seed) })
	}
}

// BenchmarkChurn measures requests of which every tenth point is new and the
// others are known.
func BenchmarkChurn(b *testing.B) {
	for _, name := range []string{"sdk", "batch"} {
		s := shape(name)
		s.Churn = 0.1
		b.Run(s.Name, func(b *testing.B) { renewed(b, s, churnSeries, (*Corpus).Renew) })
	}
}

// renewed lets the handlers take turns on requests that are renewed each time.
// A turn is requests of so many series in all, but
// not of more than can be timed. It begins with a new handler
// that has seen one request, so that the memory that it pays for is its own.
func renewed(b *testing.B, s Shape, series int, renew func(*Corpus, int)) {
	oneCore(b)
	one, two := newClient(s.New(0)), newClient(s.New(0))
	n := min(series/one.corpus.Samples, 5000)
	fresh := int(float64(one.corpus.Points) * s.Churn)

	var ours *product
	var seen path
	var theirs http.Handler
	generation := [2]int{}
	renewal := func(i int, c *client) func() {
		return func() {
			generation[i]++
			renew(c.corpus, generation[i])
			c.next()
		}
	}
	next := [2]func(){renewal(0, one), renewal(1, two)}
	play(b, contender{
		name: "otlpgw", samples: one.corpus.Samples, requests: n,
		begin: func() {
			ours = newProduct(b)
			next[0]()
			one.post(b, ours.handler)
			seen = ours.watch(b)
		},
		next: next[0],
		send: func() { one.post(b, ours.handler) },
		end: func() {
			seen.want(b, n*(one.corpus.Points-fresh), n*fresh)
			ours, seen = nil, path{}
		},
	}, contender{
		name: "prometheus", samples: two.corpus.Samples, requests: n,
		begin: func() {
			theirs = newPeer()
			next[1]()
			two.post(b, theirs)
		},
		next: next[1],
		send: func() { two.post(b, theirs) },
		end:  func() { theirs = nil },
	}).against(b)
}
