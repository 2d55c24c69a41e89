package bench

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/storage/remote"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/gateway"
	"github.com/otlpgw/otlpgw/storage"
)

// quiet logs nothing.
var quiet = slog.New(slog.DiscardHandler)

// product is this handler, its backend and its registry.
type product struct {
	backend  storage.Backend
	pipeline *converter.Pipeline
	handler  http.Handler
	registry *prometheus.Registry
}

// newProduct returns this handler as it is by default, with a backend that
// costs nothing.
func newProduct(tb testing.TB) *product {
	tb.Helper()
	return newProductWith(tb, converter.Options{Backend: &void{}})
}

// newProductWith sets what o leaves to the benchmark. The cache has room for
// everything: what is measured is not what happens when it is full.
func newProductWith(tb testing.TB, o converter.Options) *product {
	tb.Helper()
	reg := prometheus.NewRegistry()
	o.Registerer, o.Logger, o.Cache = reg, quiet, series.Options{MaxBytes: 1 << 40}
	pipeline, err := converter.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{Pusher: pipeline, Registerer: reg, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	return &product{o.Backend, pipeline, g.Handler(), reg}
}

// metric returns the value of one of this process's own metrics.
func (p *product) metric(tb testing.TB, name string) float64 {
	tb.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	tb.Fatalf("there is no metric %s", name)
	return 0
}

// hits returns how many points were found by their raw bytes, misses how many
// were not.
func (p *product) hits(tb testing.TB) float64 { return p.metric(tb, "otlpgw_series_cache_hits_total") }
func (p *product) misses(tb testing.TB) float64 {
	return p.metric(tb, "otlpgw_series_cache_misses_total")
}

// path checks which way the points of a measurement took.
type path struct {
	p            *product
	hits, misses float64
}

// watch begins to count look-ups.
func (p *product) watch(tb testing.TB) path { return path{p, p.hits(tb), p.misses(tb)} }

// want fails unless so many points were found by their bytes, and so many not,
// since the watch began.
func (w path) want(tb testing.TB, hits, misses int) {
	tb.Helper()
	if h, m := w.p.hits(tb)-w.hits, w.p.misses(tb)-w.misses; h != float64(hits) || m != float64(misses) {
		tb.Fatalf("%v points hit the cache and %v missed it, want %d and %d: this is not the path that it claims to be", h, m, hits, misses)
	}
	if v, ok := w.p.backend.(*void); ok {
		if known := w.p.metric(tb, "otlpgw_series_cache_entries"); known != float64(v.series()) {
			tb.Fatalf("%d appends came without a ref, for %v series", v.series(), known)
		}
	}
}

// newPeer returns Prometheus's own OTLP handler, with scope labels on as here,
// and the same backend.
func newPeer() http.Handler {
	cfg := config.DefaultConfig
	cfg.OTLPConfig.PromoteScopeMetadata = true
	return remote.NewOTLPWriteHandler(quiet, prometheus.NewRegistry(),
		&void{}, func() config.Config { return cfg }, remote.OTLPOptions{LookbackDelta: 5 * time.Minute})
}

// Requests of one series are stepMs apart, after firstMs, which the clock of
// any machine that runs this has left behind long ago.
const (
	firstMs = 1_700_000_000_000
	stepMs  = 10
)

// client sends one corpus in process, at a later time each time. What it does
// between requests allocates nothing, and is no part of what is timed.
type client struct {
	corpus   *Corpus
	clock    *atomic.Int64 // the time of the last request
	body     body
	request  *http.Request
	response response
}

func newClient(c *Corpus) *client {
	cl := &client{corpus: c, clock: new(atomic.Int64)}
	cl.clock.Store(firstMs)
	cl.request = httptest.NewRequest(http.MethodPost, "/v1/metrics", nil)
	cl.request.Header.Set("Content-Type", "application/x-protobuf")
	cl.request.Body = &cl.body
	cl.response.header = make(http.Header)
	return cl
}

// next makes the request ready that is sent next.
func (c *client) next() {
	c.ready(c.corpus.At(c.clock.Add(stepMs)))
}

// ready makes a request of a body.
func (c *client) ready(body []byte) {
	c.body.Reset(body)
	c.request.ContentLength = int64(len(body))
	clear(c.response.header)
	c.response.code, c.response.written = http.StatusOK, 0
}

// post sends it to a handler.
func (c *client) post(tb testing.TB, h http.Handler) {
	h.ServeHTTP(&c.response, c.request)
	if c.response.code != http.StatusOK || c.response.written != 0 {
		tb.Fatalf("answer %d with %d bytes: everything should be accepted", c.response.code, c.response.written)
	}
}

func (c *client) send(tb testing.TB, h http.Handler) {
	c.next()
	c.post(tb, h)
}

// push sends it past HTTP: bytes to Append.
func (c *client) push(tb testing.TB, p *converter.Pipeline) {
	report, err := p.Push(context.Background(), converter.Request{Body: c.corpus.Body})
	if err != nil || report.Rejected > 0 || report.Message != "" {
		tb.Fatal(report, err)
	}
}

// body is a request's.
type body struct{ bytes.Reader }

func (*body) Close() error { return nil }

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
