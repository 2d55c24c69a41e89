//go:build !race

package converter

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"
)

// Relabelling (of which one rule drops a bucket and one a metric), every limit,
// and the search for second writers cost a warm request no allocation either.
func TestWarmRulesAllocateNothing(t *testing.T) {
	rule := func(label, regex string, action relabel.Action) *relabel.Config {
		c := relabel.DefaultRelabelConfig
		c.Action, c.Regex, c.NameValidationScheme = action, relabel.MustNewRegexp(regex), model.UTF8Validation
		if label != "" {
			c.SourceLabels = model.LabelNames{model.LabelName(label)}
		}
		return &c
	}
	o := Options{
		Relabel: []*relabel.Config{rule("le", "3", relabel.Drop), rule("__name__", "dropped.*", relabel.Drop), rule("", "host", relabel.LabelDrop)},
		Limits: Limits{
			MaxSampleAge: time.Hour, RejectLate: true,
			MaxLabelNames: 50, MaxLabelNameLength: 100, MaxLabelValueLength: 100,
			MaxSeriesPerMetric: 1000, MaxActiveSeries: 10_000, MaxExemplarsPerSeries: 1, MaxExemplarsPerRequest: 10,
		},
	}
	require.Zero(t, warmAllocs(t, o, func(n int) string {
		return fleet(fmt.Sprintf(`
			metrics { name: "s" sum { is_monotonic: true aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
				data_points { start_time_unix_nano: @1000 time_unix_nano: @%[1]d as_int: %[2]d attributes: "host" = "h" } } }
			metrics { name: "dropped" gauge { data_points { time_unix_nano: @%[1]d as_int: 1 } } }
			metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
				data_points { start_time_unix_nano: @1000 time_unix_nano: @%[1]d count: %[3]d sum: 1 explicit_bounds: [1, 2, 3, 4, 5] bucket_counts: [%[2]d, 1, 1, 1, 1, 1] } } }`,
			2000+n, n, n+5))
	}))
}
