//go:build !race

package remotewrite

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/stretchr/testify/require"
)

// A series costs little beside its labels, everything included: its number, its
// place in the index, its share of templates and symbols.
func TestSeriesAreSmall(t *testing.T) {
	const targets, each = 50, 800
	all := make([]labels.Labels, 0, targets*each)
	for target := range targets {
		for n := range each {
			all = append(all, labels.FromStrings(
				"__name__", fmt.Sprintf("http_server_request_duration_%d_seconds_bucket", n/80),
				"http_request_method", "GET", "http_response_status_code", fmt.Sprint(200+n/16%5), "http_route", "/api/v1/items/{id}",
				"instance", fmt.Sprintf("4f1b6c1e-0000-4000-8000-%012d", target), "job", "shop/checkout", "le", fmt.Sprint(n%16),
				"network_protocol_version", "1.1", "otel_scope_name", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
				"server_address", "checkout.shop.svc", "url_scheme", "https"))
		}
	}
	before := heap()
	table := NewTable(DefaultMaxSeries, Rule{})
	for i, ls := range all {
		s := table.Series(0, ls, uint64(i/each))
		s.Metadata(metadata.Metadata{Type: model.MetricTypeHistogram, Help: "Help.", Unit: "seconds"}, "m")
	}
	per := float64(heap()-before) / float64(len(all))
	t.Logf("%.1f bytes per series", per)
	require.Less(t, per, 85.0)

	// 1.0 keeps nothing more.
	enc := NewEncoder(table)
	var dst []byte
	for i, ls := range all {
		s := table.Series(0, ls, uint64(i/each))
		dst = enc.AppendV1(dst[:0], []Row{rowOf(s, Sample{T: 1})})
	}
	per = float64(heap()-before) / float64(len(all))
	t.Logf("%.1f bytes per series with 1.0", per)
	require.Less(t, per, 85.0)
	runtime.KeepAlive(all)
	runtime.KeepAlive(table)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
