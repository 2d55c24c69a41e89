package converter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two resources with one job and instance are one target: a point of one is a
// retry of, or in conflict with, that of the other.
func TestResourcesOfOneTarget(t *testing.T) {
	resource := func(version string, value int) string {
		return fmt.Sprintf(`resource_metrics {
			resource { attributes: "service.name" = "shop" attributes: "service.version" = %q }
			scope_metrics { metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: %d } } } } }`, version, value)
	}
	l := newLine(t, Options{DisableTargetInfo: true})
	l.send(t, encode(t, resource("v1", 1)))
	require.Equal(t, "g{job=\"shop\"} 1 @1000\n", l.stored(t))
	require.Zero(t, l.send(t, encode(t, resource("v2", 1))).Rejected)
	require.Empty(t, l.stored(t), "a retry")
	require.Equal(t, 1, l.send(t, encode(t, resource("v2", 2))).Rejected)
	require.Empty(t, l.stored(t))

	l = newLine(t, Options{DisableTargetInfo: true})
	require.Equal(t, 1, l.send(t, encode(t, resource("v1", 1)+resource("v2", 1)+resource("v3", 2))).Rejected)
	require.Equal(t, "g{job=\"shop\"} 1 @1000\n", l.stored(t))
	requireAllRoomBack(t, l)
}

// Two targets can meet in one series, when a point says itself what job it is
// of. The series belongs to the first; both orders of locking work.
func TestTargetsOfOneSeries(t *testing.T) {
	own := func(ms, value int) string {
		return fmt.Sprintf(`resource_metrics { resource { attributes: "service.name" = "shop" }
			scope_metrics { metrics { name: "g" gauge { data_points { time_unix_nano: @%d as_int: %d } } } } }`, ms, value)
	}
	foreign := func(ms, value int) string {
		return fmt.Sprintf(`resource_metrics { resource { attributes: "host.name" = "h" }
			scope_metrics { metrics { name: "g" gauge {
				data_points { time_unix_nano: @%d as_int: %d attributes: "job" = "shop" }
				data_points { time_unix_nano: @%d as_int: %d } } } } }`, ms, value, ms, value)
	}
	for name, c := range map[string]struct{ first, again, other, later string }{
		"own first":     {own(1000, 1), foreign(1000, 1), foreign(1000, 2), foreign(2000, 1)},
		"foreign first": {foreign(1000, 1), own(1000, 1), own(1000, 2), own(2000, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, Options{})
			l.send(t, encode(t, c.first))
			require.Contains(t, l.stored(t), "g{job=\"shop\"} 1 @1000\n")
			require.Zero(t, l.send(t, encode(t, c.again)).Rejected)
			require.NotContains(t, l.stored(t), "shop")
			require.Positive(t, l.send(t, encode(t, c.other)).Rejected)
			require.NotContains(t, l.stored(t), "shop")
			require.Zero(t, l.send(t, encode(t, c.later)).Rejected)
			require.Contains(t, l.stored(t), "g{job=\"shop\"} 1 @2000\n")
			report := l.send(t, encode(t, own(3000, 1)+foreign(3000, 1)+own(3000, 2)))
			require.Equal(t, 1, report.Rejected)
			require.Equal(t, "g 1 @3000\ng{job=\"shop\"} 1 @3000\n", l.stored(t))
			requireAllRoomBack(t, l)
		})
	}
}

// Bounds that change, a sum that comes and goes: the series that stay keep what
// is known about them.
func TestChangedShape(t *testing.T) {
	l := newLine(t, Options{})
	histogram := func(ms int, rest string) Report {
		return l.send(t, encodeMetrics(t, fmt.Sprintf(`metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @%d count: 3 %s } } }`, ms, rest)))
	}
	names := func() (out []string) {
		for _, s := range l.rec.Samples() {
			out = append(out, strings.TrimPrefix(s.Labels.Get("__name__"), "h_")+s.Labels.Get("le"))
		}
		l.rec.AssertClean(t)
		l.rec.Reset()
		return out
	}
	histogram(1000, "sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1]")
	require.Equal(t, []string{"bucket+Inf", "bucket1", "bucket2", "count", "sum"}, names())
	series := metricValue(t, l, "otlpgw_series_cache_entries")
	for range 2 {
		require.Zero(t, histogram(1000, "sum: 6 explicit_bounds: [1, 3] bucket_counts: [1, 1, 1]").Rejected)
	}
	require.Equal(t, []string{"bucket3"}, names(), "the others were acknowledged for that time")
	require.Equal(t, series, metricValue(t, l, "otlpgw_series_cache_entries"))
	histogram(2000, "explicit_bounds: [1, 3] bucket_counts: [1, 1, 1]")
	require.Equal(t, []string{"bucket+Inf", "bucket1", "bucket3", "count"}, names())
	histogram(3000, "")
	require.Equal(t, []string{"bucket+Inf", "count"}, names())
	histogram(4000, "sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1]")
	require.Len(t, names(), 5)
	require.Equal(t, series, metricValue(t, l, "otlpgw_series_cache_entries"))
	require.Equal(t, 1, histogram(4000, "sum: 7 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1]").Rejected)
	require.Empty(t, names(), "one series in conflict rejects the point")
	requireAllRoomBack(t, l)
}

// The stale flag ends all series that a point had, or those that it names when
// nothing is known of it.
func TestStaleHistograms(t *testing.T) {
	stale := func(t *testing.T, l *line, ms int, rest string) int {
		report := l.send(t, encodeMetrics(t, fmt.Sprintf(`metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @%d %s flags: 1 } } }`, ms, rest)))
		require.Zero(t, report.Rejected)
		return strings.Count(l.stored(t), "stale")
	}
	known := newLine(t, Options{})
	known.send(t, encodeMetrics(t, `metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
		data_points { time_unix_nano: @1000 count: 3 sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] } } }`))
	known.stored(t)
	require.Equal(t, 5, stale(t, known, 2000, ""))
	require.Equal(t, 5, stale(t, known, 3000, "explicit_bounds: [7]"))

	require.Equal(t, 2, stale(t, newLine(t, Options{}), 2000, ""))
	require.Equal(t, 3, stale(t, newLine(t, Options{}), 2000, "explicit_bounds: [7] count: 5"))
}

// Points of one series come in any order and are appended in the order of
// time; repetitions among them are found.
func TestOutOfOrderWithinRequest(t *testing.T) {
	for name, known := range map[string]string{
		"a new series":         "",
		"older than known":     `data_points { time_unix_nano: @9000 as_int: 1 }`,
		"around what is known": `data_points { time_unix_nano: @2500 as_int: 1 }`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, Options{})
			if known != "" {
				l.send(t, encodeMetrics(t, `metrics { name: "g" gauge { `+known+` } }`))
				l.stored(t)
			}
			report := l.send(t, encodeMetrics(t, `metrics { name: "g" gauge {
				data_points { time_unix_nano: @3000 as_int: 3 }
				data_points { time_unix_nano: @1000 as_int: 1 }
				data_points { time_unix_nano: @2000 as_int: 2 }
				data_points { time_unix_nano: @1000 as_int: 1 }
				data_points { time_unix_nano: @1000 as_int: 9 }
				data_points { time_unix_nano: @3000 as_int: 9 }
				data_points { time_unix_nano: @2000 as_int: 2 } } }`))
			require.Equal(t, 2, report.Rejected, report.Message)
			var times []int64
			for _, s := range l.rec.InOrder() {
				require.Equal(t, float64(s.T)/1000, s.V)
				times = append(times, s.T)
			}
			require.Equal(t, []int64{1000, 2000, 3000}, times)
			l.rec.AssertClean(t)
		})
	}
}
