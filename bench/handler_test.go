package bench

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/storage/remote"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/gateway"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// Two requests of one series are a second apart, after a clock that stands
// behind all of them.
const firstMs = 1_700_000_000_000

var clock = func() time.Time { return time.UnixMilli(firstMs).AddDate(10, 0, 0) }

// product is this handler and its registry.
type product struct {
	pipeline *converter.Pipeline
	handler  http.Handler
	registry *prometheus.Registry
}

func newProduct(tb testing.TB) *product {
	tb.Helper()
	reg := prometheus.NewRegistry()
	pipeline, err := converter.New(converter.Options{
		Backend: storagetest.NewDiscard(), Registerer: reg, Now: clock, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{Pusher: pipeline, Registerer: reg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return &product{pipeline, g.Handler(), reg}
}

// hits returns how many points were found by their raw bytes.
func (p *product) hits(tb testing.TB) float64 {
	tb.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "otlpgw_series_cache_hits_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	tb.Fatal("the cache counts no hits")
	return 0
}

// newPeer returns Prometheus's own OTLP handler, with scope labels on as here.
func newPeer() http.Handler {
	cfg := config.DefaultConfig
	cfg.OTLPConfig.PromoteScopeMetadata = true
	return remote.NewOTLPWriteHandler(slog.New(slog.DiscardHandler), prometheus.NewRegistry(),
		storagetest.NewDiscard(), func() config.Config { return cfg }, remote.OTLPOptions{LookbackDelta: 5 * time.Minute})
}

// client sends one corpus to a handler, in process, a second later each time.
type client struct {
	corpus   *Corpus
	ms       int64
	body     bytes.Reader
	request  *http.Request
	response response
}

func newClient(c *Corpus) *client {
	cl := &client{corpus: c, ms: firstMs}
	cl.request = httptest.NewRequest(http.MethodPost, "/v1/metrics", nil)
	cl.request.Header.Set("Content-Type", "application/x-protobuf")
	cl.response.header = make(http.Header)
	return cl
}

func (c *client) send(tb testing.TB, h http.Handler) {
	c.ms += 1000
	c.body.Reset(c.corpus.At(c.ms))
	c.request.Body = io.NopCloser(&c.body)
	c.request.ContentLength = int64(len(c.corpus.Body))
	clear(c.response.header)
	c.response.code, c.response.written = http.StatusOK, 0
	h.ServeHTTP(&c.response, c.request)
	if c.response.code != http.StatusOK || c.response.written != 0 {
		tb.Fatalf("answer %d with %d bytes: everything should be accepted", c.response.code, c.response.written)
	}
}

// response is an http.ResponseWriter that costs nothing.
type response struct {
	header        http.Header
	code, written int
}

func (r *response) Header() http.Header { return r.header }
func (r *response) WriteHeader(c int)   { r.code = c }
func (r *response) Write(b []byte) (int, error) {
	r.written += len(b)
	return len(b), nil
}

// BenchmarkHandler measures whole handlers on warm requests, each goroutine
// with targets of its own.
func BenchmarkHandler(b *testing.B) {
	for _, shape := range Shapes {
		b.Run(shape.Name+"/otlpgw", func(b *testing.B) {
			p := newProduct(b)
			parallel(b, shape, p.handler)
			if p.hits(b) == 0 {
				b.Fatal("the cache was never hit: this is not the warm path")
			}
		})
		b.Run(shape.Name+"/prometheus", func(b *testing.B) { parallel(b, shape, newPeer()) })
	}
}

func parallel(b *testing.B, shape Shape, h http.Handler) {
	b.ReportAllocs()
	seeds := make(chan int, 1<<10)
	for i := range cap(seeds) {
		seeds <- i
	}
	samples := shape.New(0).Samples
	b.SetBytes(int64(len(shape.New(0).Body)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := newClient(shape.New(<-seeds))
		c.send(b, h)
		for pb.Next() {
			c.send(b, h)
		}
	})
	b.ReportMetric(float64(b.N*samples)/b.Elapsed().Seconds(), "samples/s")
}

// BenchmarkRatio sends every request to both handlers, one after the other in
// turns, so that whatever else the machine does concerns both.
func BenchmarkRatio(b *testing.B) {
	for _, shape := range Shapes {
		b.Run(shape.Name, func(b *testing.B) {
			ours, theirs := newProduct(b), newPeer()
			one, two := newClient(shape.New(0)), newClient(shape.New(0))
			for range 3 { // Past the first sight of each series.
				one.send(b, ours.handler)
				two.send(b, theirs)
			}
			before := ours.hits(b)
			var took [2]time.Duration
			for b.Loop() {
				start := time.Now()
				one.send(b, ours.handler)
				middle := time.Now()
				two.send(b, theirs)
				took[0] += middle.Sub(start)
				took[1] += time.Since(middle)
			}
			if ours.hits(b) == before {
				b.Fatal("the cache was never hit: this is not the warm path")
			}
			n := float64(b.N * one.corpus.Samples)
			b.ReportMetric(n/took[0].Seconds(), "otlpgw-samples/s")
			b.ReportMetric(n/took[1].Seconds(), "prometheus-samples/s")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "x-prometheus")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkConvert leaves HTTP out: bytes to Append.
func BenchmarkConvert(b *testing.B) {
	for _, shape := range Shapes {
		b.Run(shape.Name, func(b *testing.B) {
			p := newProduct(b)
			c, ms := shape.New(0), int64(firstMs)
			push := func() {
				ms += 1000
				report, err := p.pipeline.Push(b.Context(), converter.Request{Body: c.At(ms)})
				if err != nil || report.Rejected > 0 {
					b.Fatal(report, err)
				}
			}
			push()
			b.ReportAllocs()
			b.SetBytes(int64(len(c.Body)))
			for b.Loop() {
				push()
			}
			b.ReportMetric(float64(b.N*c.Samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

// TestCorpus keeps the benchmarks honest: both handlers take every request
// whole, and the second one of a series finds it.
func TestCorpus(t *testing.T) {
	for _, shape := range Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			p := newProduct(t)
			c := newClient(shape.New(0))
			c.send(t, p.handler)
			if got := p.hits(t); got != 0 {
				t.Fatalf("%v hits on the first request", got)
			}
			c.send(t, p.handler)
			if got, want := p.hits(t), float64(c.corpus.Points); got != want {
				t.Fatalf("%v hits on the second request, want %v", got, want)
			}
			if n := testutil.CollectAndCount(p.registry, "otlpgw_converter_points_total"); n != 1 {
				t.Fatalf("points are counted in %d series", n)
			}
			newClient(shape.New(1)).send(t, newPeer())
		})
	}
}
