package bench

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// BenchmarkHandler measures whole handlers on warm requests, from as many
// goroutines as -cpu says, each a target of its own.
func BenchmarkHandler(b *testing.B) {
	for _, s := range Shapes {
		b.Run(s.Name+"/otlpgw", func(b *testing.B) {
			p := newProduct(b)
			clients := crowd(b, s, p.handler)
			warm := p.watch(b)
			parallel(b, clients, p.handler)
			warm.want(b, b.N*clients[0].corpus.Points, 0)
		})
		b.Run(s.Name+"/prometheus", func(b *testing.B) {
			h := newPeer()
			parallel(b, crowd(b, s, h), h)
		})
	}
}

// crowd returns a client for each processor that has sent its first request,
// so that its series are known.
func crowd(tb testing.TB, s Shape, h http.Handler) []*client {
	clients := make([]*client, runtime.GOMAXPROCS(0))
	for i := range clients {
		clients[i] = newClient(s.New(i))
		clients[i].send(tb, h)
	}
	return clients
}

// parallel sends from a goroutine for each client.
func parallel(b *testing.B, clients []*client, h http.Handler) {
	b.ReportAllocs()
	c := clients[0].corpus
	b.SetBytes(int64(len(c.Body)))
	var next atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := clients[next.Add(1)-1]
		for pb.Next() {
			c.send(b, h)
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N*c.Samples)/b.Elapsed().Seconds(), "samples/s")
}

// BenchmarkConvert leaves HTTP out: bytes to Append.
func BenchmarkConvert(b *testing.B) {
	for _, s := range append(Shapes[:len(Shapes):len(Shapes)], Variants...) {
		b.Run(s.Name, func(b *testing.B) {
			oneCore(b)
			p, c := newProduct(b), newClient(s.New(0))
			c.next()
			c.push(b, p.pipeline)
			b.ReportAllocs()
			b.SetBytes(int64(len(c.corpus.Body)))
			warm := p.watch(b)
			for b.Loop() {
				c.next()
				c.push(b, p.pipeline)
			}
			warm.want(b, b.N*c.corpus.Points, 0)
			b.ReportMetric(float64(b.N*c.corpus.Samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

// TestCorpus keeps the benchmarks honest: both handlers take every request
// whole, the second one of a series finds it, and what is patched is new.
func TestCorpus(t *testing.T) {
	for _, s := range append(Shapes[:len(Shapes):len(Shapes)], Variants...) {
		t.Run(s.Name, func(t *testing.T) {
			s.Churn = 0.1
			p := newProduct(t)
			c := newClient(s.New(0))
			fresh := c.corpus.Points / 10

			w := p.watch(t)
			c.send(t, p.handler)
			w.want(t, 0, c.corpus.Points)
			w = p.watch(t)
			c.send(t, p.handler)
			w.want(t, c.corpus.Points, 0)
			c.corpus.Renew(1)
			w = p.watch(t)
			c.send(t, p.handler)
			w.want(t, c.corpus.Points-fresh, fresh)
			c.corpus.Seed(1)
			w = p.watch(t)
			c.send(t, p.handler)
			w.want(t, 0, c.corpus.Points)

			if n := testutil.CollectAndCount(p.registry, "otlpgw_converter_points_total"); n != 1 {
				t.Fatalf("points are counted in %d series", n)
			}
			newClient(s.New(1)).send(t, newPeer())
		})
	}
}

// TestCorpusSamples checks the figures that throughput is computed from.
func TestCorpusSamples(t *testing.T) {
	for _, s := range append(Shapes[:len(Shapes):len(Shapes)], Variants...) {
		t.Run(s.Name, func(t *testing.T) {
			p, c := newProduct(t), newClient(s.New(0))
			c.send(t, p.handler)
			want := c.corpus.Samples + s.Targets // and one target_info each
			if got := p.metric(t, "otlpgw_series_cache_entries"); got != float64(want) {
				t.Fatalf("the request has %v series, want %d", got, want)
			}
		})
	}
}
