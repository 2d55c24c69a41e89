package bench

import (
	"flag"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage/direct"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
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
	b.Run("direct-v2/sdk", func(b *testing.B) { weighDirect(b, floats, remotewrite.MessageV2) })
	b.Run("direct-v1/sdk", func(b *testing.B) { weighDirect(b, floats, remotewrite.MessageV1) })
}

// weighDirect weighs the cache together with what storage/direct keeps for one
// destination, each series having been sent.
func weighDirect(b *testing.B, shape Shape, message remotewrite.Message) {
	oneCore(b)
	end := &farEnd{}
	server := httptest.NewServer(end)
	defer server.Close()
	for b.Loop() {
		c := newClient(shape.New(0))
		before := liveHeap()
		o := remotewrite.DefaultDestinationOptions(server.URL)
		o.ProtobufMessage = message
		backend, err := direct.New(direct.Options{Destinations: []remotewrite.DestinationOptions{o}, AckTimeout: time.Minute, Logger: quiet})
		if err != nil {
			b.Fatal(err)
		}
		p := newProductWith(b, converter.Options{Backend: backend})
		n := fill(b, p, c, manySeries)
		b.ReportMetric(float64(liveHeap()-before)/float64(n), "bytes/series")
		b.ReportMetric(p.metric(b, "otlpgw_series_cache_bytes")/float64(n), "cache-accounted-bytes/series")
		profileHeap(b)
		if sent, other := end.v2.Load(), end.v1.Load(); message == remotewrite.MessageV1 && (sent > 0 || other == 0) || message == remotewrite.MessageV2 && (sent == 0 || other > 0) {
			b.Fatalf("%d requests of 2.0 and %d of 1.0 were sent", sent, other)
		}
		runtime.KeepAlive(p)
		if err := backend.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// weighCache weighs the converter's cache alone.
func weighCache(b *testing.B, shape Shape) {
	oneCore(b)
	for b.Loop() {
		c := newClient(shape.New(0))
		before := liveHeap()
		p := newProduct(b)
		n := fill(b, p, c, manySeries)
		b.ReportMetric(float64(liveHeap()-before)/float64(n), "bytes/series")
		profileHeap(b)
		b.ReportMetric(p.metric(b, "otlpgw_series_cache_bytes")/float64(n), "accounted-bytes/series")
		runtime.KeepAlive(p)
	}
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
	n := targets * c.corpus.Samples
	if known := p.metric(tb, "otlpgw_series_cache_entries"); known != float64(n+targets) {
		tb.Fatalf("%d series and %d target_infos were sent, and %v are cached", n, targets, known)
	}
	return n
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
