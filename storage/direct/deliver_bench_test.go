//go:build unix

package direct

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// BenchmarkDeliver shows what a transaction of 800 samples costs from its first
// append to its acknowledgement, beside the floor: a client that posts one
// ready-made body of the same size for each. Both share the process with the
// receiver, which reads and answers. cpu-ns/sample is the process's time.
func BenchmarkDeliver(b *testing.B) {
	var size int
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		size = int(n)
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "100000")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer far.Close()

	for _, senders := range []int{1, 8} {
		for name, message := range messages {
			b.Run(fmt.Sprintf("%s/senders=%d", name, senders), func(b *testing.B) {
				o := remotewrite.DefaultDestinationOptions(far.URL)
				o.ProtobufMessage = message
				backend, err := New(Options{Destinations: []remotewrite.DestinationOptions{o}, Logger: promslog.NewNopLogger()})
				if err != nil {
					b.Fatal(err)
				}
				targets := make([]*benchTarget, 16)
				for i := range targets {
					targets[i] = newBenchTarget(i)
					targets[i].push(b, backend)
				}
				var mu sync.Mutex
				turn := 0
				each(b, senders, func() {
					mu.Lock()
					t := targets[turn%len(targets)]
					turn++
					mu.Unlock()
					t.push(b, backend)
				})
				if err := backend.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	for _, senders := range []int{1, 8} {
		b.Run(fmt.Sprintf("floor/senders=%d", senders), func(b *testing.B) {
			body := make([]byte, size)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
			each(b, senders, func() {
				resp, err := client.Post(far.URL, "application/x-protobuf", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_ = resp.Body.Close()
			})
			client.CloseIdleConnections()
		})
	}
}

// each runs f b.N times from so many goroutines and reports the CPU time.
func each(b *testing.B, senders int, f func()) {
	b.ReportAllocs()
	before := cpu()
	b.ResetTimer()
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := s; i < b.N; i += senders {
				f()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N*benchSeries), "cpu-ns/sample")
}

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const benchSeries = 800

type benchTarget struct {
	mu     sync.Mutex
	hash   uint64
	labels []labels.Labels
	refs   []promstorage.SeriesRef
	at     int64
}

func newBenchTarget(i int) *benchTarget {
	t := &benchTarget{hash: uint64(i) * 7919, refs: make([]promstorage.SeriesRef, benchSeries), at: 1_700_000_000_000}
	for m := range benchSeries / 16 {
		for le := range 16 {
			t.labels = append(t.labels, labels.FromStrings(
				"__name__", fmt.Sprintf("http_server_request_duration_%d_seconds_bucket", m/5),
				"http_request_method", "GET", "http_response_status_code", fmt.Sprint(200+m%5), "http_route", "/api/v1/items/{id}",
				"instance", fmt.Sprintf("4f1b6c1e-0000-4000-8000-%012d", i), "job", "shop/checkout", "le", fmt.Sprint(float64(le)/8),
				"network_protocol_version", "1.1", "otel_scope_name", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
				"otel_scope_version", "0.61.0", "server_address", "checkout.shop.svc", "url_scheme", "https"))
		}
	}
	return t
}

func (t *benchTarget) push(b *testing.B, backend *Backend) {
	app := backend.AppenderV2(context.Background())
	t.mu.Lock()
	place := app.(storage.TargetAppender).Target(t.hash)
	t.at += 10_000
	at := t.at
	t.mu.Unlock()
	app.(storage.TargetAppender).At(place)
	opts := promstorage.AppendV2Options{
		MetricFamilyName: "http_server_request_duration_seconds",
		Metadata:         metadata.Metadata{Type: model.MetricTypeHistogram, Help: "Duration of HTTP server requests.", Unit: "seconds"},
	}
	for i := range t.labels {
		ref, err := app.Append(t.refs[i], t.labels[i], at-60_000, at, float64(i), nil, nil, opts)
		if err != nil {
			b.Error(err)
			return
		}
		if t.refs[i] == 0 {
			t.refs[i] = ref
		}
	}
	if err := app.Commit(); err != nil {
		b.Error(err)
	}
}
