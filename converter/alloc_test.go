//go:build !race

package converter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// warmAllocs pushes requests that differ in their times and values through a
// warm pipeline and returns how much one of them allocates, on average.
func warmAllocs(t *testing.T, o Options, request func(n int) string) float64 {
	t.Helper()
	l := &line{reg: prometheus.NewRegistry()}
	o.Backend, o.Registerer = storagetest.NewDiscard(), l.reg
	o.Now = func() time.Time { return time.UnixMilli(1_000_000) }
	p, err := New(o)
	require.NoError(t, err)
	const warm, runs = 50, 200
	var bodies [][]byte
	for n := range warm + runs + 1 {
		bodies = append(bodies, encode(t, request(n)))
	}
	push := func() {
		report, err := p.Push(t.Context(), Request{Body: bodies[0]})
		if err != nil || report.Rejected > 0 || report.Points == 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		bodies = bodies[1:]
	}
	for range warm {
		push()
	}
	missed, hit := metricValue(t, l, "otlpgw_series_cache_misses_total"), metricValue(t, l, "otlpgw_series_cache_hits_total")
	allocs := testing.AllocsPerRun(runs, push)
	require.Equal(t, missed, metricValue(t, l, "otlpgw_series_cache_misses_total"), "this was to be warm")
	require.Greater(t, metricValue(t, l, "otlpgw_series_cache_hits_total"), hit)
	require.Zero(t, metricValue(t, l, "otlpgw_converter_repeated_points_total"))
	return allocs
}

// fleet is a request of a few senders with the same metrics.
func fleet(metrics string) string {
	var b strings.Builder
	for sender := range 3 {
		fmt.Fprintf(&b, `resource_metrics {
			resource { attributes: "service.name" = "shop" attributes: "service.instance.id" = "i%d" attributes: "host.name" = "h" }
			scope_metrics { scope { name: "lib" version: "1.0" } %s } }`, sender, metrics)
	}
	return b.String()
}

// A warm request of numbers, also one with target_info, allocates nothing.
func TestWarmNumbersAllocateNothing(t *testing.T) {
	require.Zero(t, warmAllocs(t, Options{}, func(n int) string {
		var points strings.Builder
		for i := range 10 {
			fmt.Fprintf(&points, `data_points { start_time_unix_nano: @1000 time_unix_nano: @%d as_double: %d.5 attributes: "method" = "m%d" attributes: "code" = 200 }`, 2000+n, n, i)
		}
		return fleet(fmt.Sprintf(`metrics { name: "g" unit: "s" description: "help" gauge { %s } }
			metrics { name: "s" unit: "By" sum { is_monotonic: true aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE %s } }`, &points, &points))
	}))
}

// So does one of classic histograms and summaries.
func TestWarmHistogramsAllocateNothing(t *testing.T) {
	require.Zero(t, warmAllocs(t, Options{}, func(n int) string {
		return fleet(fmt.Sprintf(`
			metrics { name: "h" unit: "s" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
				data_points { time_unix_nano: @%d count: %d sum: 1 explicit_bounds: [1, 2, 3, 4, 5] bucket_counts: [%d, 1, 1, 1, 1, 1] attributes: "method" = "m" }
				data_points { time_unix_nano: @%d count: %d sum: 1 explicit_bounds: [1, 2, 3, 4, 5] bucket_counts: [%d, 1, 1, 1, 1, 1] } } }
			metrics { name: "q" summary { data_points { time_unix_nano: @%d count: %d sum: 1 quantile_values { quantile: 0.5 value: 1 } quantile_values { quantile: 0.9 value: 2 } } } }`,
			2000+n, n+5, n, 2000+n, n+5, n, 2000+n, n))
	}))
}

// Native histograms are the store's once appended, so their memory is fresh:
// in chunks that serve many.
func TestWarmNativeHistogramsAllocateChunks(t *testing.T) {
	exponential := func(buckets, every int) func(n int) string {
		counts := make([]string, buckets)
		total := 0
		for i := range counts {
			counts[i] = "0"
			if i%every == 0 {
				counts[i] = "1"
				total++
			}
		}
		list := strings.Join(counts, ", ")
		return func(n int) string {
			return fleet(fmt.Sprintf(`metrics { name: "e" exponential_histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
				data_points { time_unix_nano: @%d count: %d sum: 1 scale: 3 zero_count: %d positive { offset: -5 bucket_counts: [%s] } } } }`, 2000+n, total+n, n, list))
		}
	}
	for name, c := range map[string]func(int) string{
		"20 buckets":        exponential(20, 1),
		"20 lone buckets":   exponential(80, 4),
		"160 buckets":       exponential(160, 1),
		"50 pairs and gaps": exponential(150, 3),
	} {
		require.LessOrEqual(t, warmAllocs(t, Options{}, c), 2., name)
	}
	require.LessOrEqual(t, warmAllocs(t, Options{NHCB: true}, func(n int) string {
		return fleet(fmt.Sprintf(`metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @%d count: %d sum: 1 explicit_bounds: [1, 2, 3, 4, 5] bucket_counts: [%d, 1, 1, 1, 1, 1] } } }`, 2000+n, n+5, n))
	}), 2., "custom buckets")
}
