package bench

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/otlpgw/otlpgw/converter"
)

// BenchmarkReference repeats the published case on this handler: one
// uncompressed request through the handler to a backend that discards, request
// and recorder made anew each time, with a converter out of the pool (pooled)
// and with one built for the request (built). There Prometheus's handler gained
// 7.5 % ns/op serially on one processor and 11.8 % in parallel on four, 26.8 %
// and 26.7 % B/op, and 5 allocs/op. Compare them with
//
//	go run ./bench/paired -bench 'Reference/serial/{built,pooled}'
//	go run ./bench/paired -bench 'Reference/parallel/{built,pooled}' -cpu 4
//
// Other than there each goroutine is a target of its own, and each request
// brings later points: the same again would be a retry, which is not stored
// twice.
func BenchmarkReference(b *testing.B) {
	for _, mode := range []struct {
		name  string
		cores int
	}{{"serial", 1}, {"parallel", 4}} {
		for _, config := range []struct {
			name     string
			unpooled bool
		}{{"built", true}, {"pooled", false}} {
			b.Run(mode.name+"/"+config.name, func(b *testing.B) { reference(b, mode.cores, config.unpooled) })
		}
	}
}

func reference(b *testing.B, cores int, unpooled bool) {
	onCores(b, cores)
	p := newProductWith(b, converter.Options{Backend: &void{}, Unpooled: unpooled})
	var seeds, requests atomic.Int64
	sender := func() func() {
		c, ms := NewReference(int(seeds.Add(1))), int64(firstMs)
		return func() {
			ms += stepMs
			requests.Add(1)
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/v1/metrics", bytes.NewReader(c.At(ms)))
			r.Header.Set("Content-Type", "application/x-protobuf")
			p.handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK || w.Body.Len() != 0 {
				b.Errorf("answer %d: %s", w.Code, w.Body)
			}
		}
	}
	points := NewReference(0).Points
	b.ReportAllocs()
	if cores == 1 {
		once(b)
		send := sender()
		send()
		for b.Loop() {
			send()
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			send := sender()
			send()
			for pb.Next() {
				send()
			}
		})
	}
	b.StopTimer()
	if hits, want := p.hits(b), float64((requests.Load()-seeds.Load())*int64(points)); hits != want {
		b.Fatalf("%v points hit the cache, want %v: this is not the warm path", hits, want)
	}
}
