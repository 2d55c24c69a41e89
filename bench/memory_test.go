package bench

import (
	"context"
	"flag"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"

	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// manySeries is how many series the heap is weighed with.
const manySeries = 1_000_000

// floats is the sdk shape without what is no float series.
var floats = Shape{Name: "sdk", Targets: 1, Metrics: 60, Points: 10, Histograms: true, AttributesPerPoint: 4}

var heapProfile = flag.String("heap-profile", "", "write what BenchmarkMemory keeps to this file, as a heap profile")

// BenchmarkMemory weighs what is kept per cached float series: the live heap
// after garbage collection with a million of them, less what there was before.
func BenchmarkMemory(b *testing.B) {
	b.Run("cache/sdk", func(b *testing.B) { weighCache(b, floats) })
	b.Run("cache/numbers", func(b *testing.B) { weighCache(b, Shape{Targets: 1, Metrics: 60, Points: 10, AttributesPerPoint: 4}) })
}

// weighCache weighs the converter's cache alone.
func weighCache(b *testing.B, shape Shape) {
	oneCore(b)
	var perSeries float64
	for b.Loop() {
		c := newClient(shape.New(0))
		before := liveHeap()
		backend := &light{Discard: storagetest.NewDiscard()}
		p := newProductWith(b, converter.Options{Backend: backend})
		n := fill(b, p, c, manySeries)
		known := backend.Series()
		backend.Discard = nil // What it keeps of the series is its own.
		perSeries = float64(liveHeap()-before) / float64(n)
		profileHeap(b)
		if known < n || float64(known) != p.metric(b, "otlpgw_series_cache_entries") {
			b.Fatalf("%d series were sent, %d came through and %v are cached", n, known, p.metric(b, "otlpgw_series_cache_entries"))
		}
		accounted := p.metric(b, "otlpgw_series_cache_bytes") / float64(n)
		b.ReportMetric(accounted, "accounted-bytes/series")
		runtime.KeepAlive(p)
	}
	b.ReportMetric(perSeries, "bytes/series")
	b.ReportMetric(0, "ns/op")
}

// fill sends the first request of target after target until so many series
// are known, and returns how many there are, target_info not counted.
func fill(tb testing.TB, p *product, c *client, atLeast int) int {
	tb.Helper()
	w := p.watch(tb)
	targets := (atLeast + c.corpus.Samples - 1) / c.corpus.Samples
	for i := range targets {
		c.corpus.Seed(i)
		c.next()
		c.push(tb, p.pipeline)
	}
	w.want(tb, 0, targets*c.corpus.Points)
	return targets * c.corpus.Samples
}

// liveHeap returns the bytes of reachable objects.
func liveHeap() uint64 {
	// Twice, since a sync.Pool gives its contents up in the second cycle.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// light is a Discard that can be let go while its user is kept.
type light struct{ *storagetest.Discard }

// AppenderV2 opens a transaction.
func (l *light) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return l.Discard.AppenderV2(ctx)
}

// profileHeap writes the profile that -heap-profile asks for.
func profileHeap(tb testing.TB) {
	if *heapProfile == "" {
		return
	}
	f, err := os.Create(*heapProfile)
	if err == nil {
		err = pprof.Lookup("heap").WriteTo(f, 0)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
}
