package bench

import "testing"

// BenchmarkRatio lets this handler and Prometheus's take turns on the same
// warm requests, on one core, and prints how many times as many samples per
// second this one takes.
func BenchmarkRatio(b *testing.B) {
	for _, s := range Shapes {
		b.Run(s.Name, func(b *testing.B) { ratio(b, s, (*client).toHandler) })
	}
	for _, s := range Variants {
		b.Run("sdk-"+s.Name, func(b *testing.B) { ratio(b, s, (*client).toHandler) })
	}
}

// BenchmarkRatioConvert is BenchmarkRatio with HTTP left out on this side: what
// conversion alone, from bytes to Append, is to Prometheus's handler.
func BenchmarkRatioConvert(b *testing.B) {
	for _, s := range Shapes {
		b.Run(s.Name, func(b *testing.B) { ratio(b, s, (*client).toPipeline) })
	}
}

func (c *client) toHandler(tb testing.TB, p *product)  { c.post(tb, p.handler) }
func (c *client) toPipeline(tb testing.TB, p *product) { c.push(tb, p.pipeline) }

func ratio(b *testing.B, s Shape, send func(*client, testing.TB, *product)) {
	oneCore(b)
	ours, theirs := newProduct(b), newPeer()
	one, two := newClient(s.New(0)), newClient(s.New(0))
	for range 3 { // Past the first sight of each series.
		one.next()
		send(one, b, ours)
		two.send(b, theirs)
	}
	warm := ours.watch(b)
	m := play(b,
		contender{name: "otlpgw", samples: one.corpus.Samples, next: one.next, send: func() { send(one, b, ours) }},
		contender{name: "prometheus", samples: two.corpus.Samples, next: two.next, send: func() { two.post(b, theirs) }},
	)
	warm.want(b, m.requests[0]*one.corpus.Points, 0)
	m.against(b)
}
