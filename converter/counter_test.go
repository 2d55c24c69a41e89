package converter_test

import (
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// In every story what the client is told is what the self metrics count: points,
// and rejected points by reason; and what is listed as a conflict is counted.
func TestSelfMetricsCountStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	repeated, dropped := 0., 0.
	for _, path := range paths {
		g := readGolden(t, path)
		reg := prometheus.NewRegistry()
		b := newBench(t, g.opts, func(o *converter.Options) { o.Registerer = reg })
		points, rejected := 0, 0
		for _, s := range g.steps {
			if s.clockMs != 0 {
				b.nowMs.Store(s.clockMs)
			}
			if err := commitError(t, s.commit); err != nil {
				b.rec.FailCommit(err)
			}
			b.peer = s.peer
			report, err := b.push(convertertest.Ascending(s.request), false)
			if err == nil {
				points, rejected = points+report.Points, rejected+report.Rejected
			}
		}
		require.Equal(t, points, int(sumOf(t, reg, "otlpgw_converter_points_total")), path)
		require.Equal(t, rejected, int(sumOf(t, reg, "otlpgw_converter_rejected_points_total")), path)
		listed := 0
		for _, c := range b.line.Conflicts() {
			listed += c.Count
		}
		require.Equal(t, listed, int(sumOf(t, reg, "otlpgw_converter_conflicts_total")), path)
		repeated += sumOf(t, reg, "otlpgw_converter_repeated_points_total")
		dropped += sumOf(t, reg, "otlpgw_converter_dropped_points_total")
		problems, err := testutil.GatherAndLint(reg)
		require.NoError(t, err)
		require.Empty(t, problems)
	}
	require.Positive(t, repeated)
	require.Positive(t, dropped)
}

// sumOf returns the sum of a counter over all of its label values.
func sumOf(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
