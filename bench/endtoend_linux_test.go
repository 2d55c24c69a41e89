package bench

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

const (
	// senders send at once, each for a target of its own.
	senders = 4
	// endToEndTurn is how long a server is under load before the other's turn.
	endToEndTurn = 150 * time.Millisecond
)

// BenchmarkEndToEnd sends sdk requests over loopback HTTP to a server in a
// process of its own, in turns with one that serves Prometheus's handler before
// a backend that costs nothing. Both start with the benchmark. It prints what each of
// them used: processor time per sample, and the most resident memory.
//
//   - discard: the same backend as Prometheus's handler.
//   - direct-v2, direct-v1: each sample is sent on to a far end, in this process.
//   - gzip: discard, with compressed requests for both.
func BenchmarkEndToEnd(b *testing.B) {
	b.Run("discard", func(b *testing.B) { endToEnd(b, "discard", false) })
	b.Run("direct-v2", func(b *testing.B) { endToEnd(b, "direct-v2", false) })
	b.Run("direct-v1", func(b *testing.B) { endToEnd(b, "direct-v1", false) })
	b.Run("gzip", func(b *testing.B) { endToEnd(b, "discard", true) })
}

func endToEnd(b *testing.B, kind string, compress bool) {
	once(b)
	end := &farEnd{}
	server := httptest.NewServer(end)
	defer server.Close()
	loads := []*load{
		newLoad(b, "otlpgw", start(b, kind+" "+server.URL), compress),
		newLoad(b, "prometheus", start(b, "prometheus"), compress),
	}
	round := func() {
		for _, l := range loads {
			l.turn(b)
		}
	}
	for b.Loop() {
		round()
	}
	for len(loads[0].cpu) < minRounds {
		round()
	}
	ours, theirs := loads[0], loads[1]
	ratios := make([]float64, len(ours.cpu))
	for i := range ratios {
		ratios[i] = theirs.cpu[i] / ours.cpu[i]
	}
	b.ReportMetric(median(ratios), "x-prometheus-cpu")
	for _, l := range loads {
		b.ReportMetric(median(l.cpu), l.name+"-cpu-ns/sample")
		b.ReportMetric(median(l.rate), l.name+"-samples/s")
		b.ReportMetric(float64(l.process.usage(b).PeakRSS), l.name+"-peak-RSS-B")
	}
	b.ReportMetric(0, "ns/op")

	u, points := ours.process.usage(b), float64(ours.corpora[0].Points)
	if u.Misses != senders*points || u.Hits != float64(ours.requests)*points-u.Misses {
		b.Fatalf("%v points hit the cache and %v missed it in %d requests: only the first of each target should miss", u.Hits, u.Misses, ours.requests)
	}
	if v1, v2 := end.v1.Load() > 0, end.v2.Load() > 0; v1 != (kind == "direct-v1") || v2 != (kind == "direct-v2") {
		b.Fatalf("the far end got %d requests of 1.0 and %d of 2.0", end.v1.Load(), end.v2.Load())
	}
}

// load is what is sent to one server, and what came of it, by turn.
type load struct {
	name      string
	process   *process
	corpora   [senders]*Corpus
	compress  bool
	client    http.Client
	ms        int64
	requests  int
	cpu, rate []float64
}

// newLoad returns a load of which each target has sent its first request.
func newLoad(b *testing.B, name string, p *process, compress bool) *load {
	l := &load{name: name, process: p, compress: compress, ms: firstMs}
	l.client.Transport = &http.Transport{MaxIdleConnsPerHost: senders}
	b.Cleanup(l.client.CloseIdleConnections)
	for i := range l.corpora {
		l.corpora[i] = shape("sdk").New(i)
	}
	l.burst(b)
	return l
}

// turn sends bursts and notes what they cost the server.
func (l *load) turn(b *testing.B) {
	before := l.process.usage(b)
	start := time.Now()
	samples := 0
	for time.Since(start) < endToEndTurn {
		l.burst(b)
		samples += senders * l.corpora[0].Samples
	}
	took := time.Since(start)
	l.cpu = append(l.cpu, float64(l.process.usage(b).CPU-before.CPU)/float64(samples))
	l.rate = append(l.rate, float64(samples)/took.Seconds())
}

// burst sends a request of each target at once.
func (l *load) burst(b *testing.B) {
	l.ms += stepMs
	l.requests += senders
	var wg sync.WaitGroup
	for _, c := range l.corpora {
		body := c.At(l.ms)
		if l.compress {
			body = gzipped(b, body)
		}
		wg.Go(func() { l.post(b, body) })
	}
	wg.Wait()
}

func (l *load) post(b *testing.B, body []byte) {
	r, err := http.NewRequest(http.MethodPost, l.process.otlp, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	if l.compress {
		r.Header.Set("Content-Encoding", "gzip")
	}
	w, err := l.client.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer w.Body.Close()
	if text, err := io.ReadAll(w.Body); err != nil || w.StatusCode != http.StatusOK || len(text) > 0 {
		b.Errorf("%s answered %d %q, %v: everything should be accepted", l.name, w.StatusCode, text, err)
	}
}
