package explain

import (
	"bytes"
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
)

// odd is a result with everything that is not plain.
func odd() *Result {
	native := &histogram.Histogram{
		Count: 7, Sum: math.Inf(1), Schema: 0, ZeroThreshold: 0.001, ZeroCount: 1,
		PositiveSpans: []histogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []int64{4},
		NegativeSpans: []histogram.Span{{Offset: 0, Length: 1}}, NegativeBuckets: []int64{2},
	}
	custom := &histogram.Histogram{
		Count: 2, Sum: 3, Schema: histogram.CustomBucketsSchema, CustomValues: []float64{0.5, 1},
		PositiveSpans: []histogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []int64{2},
	}
	return &Result{
		Samples: []Sample{
			{Labels: labels.FromStrings("__name__", "http.größe", "b.c", "quoted \"x\"\n"), Value: math.NaN(), Ms: 10},
			{Labels: labels.FromStrings("__name__", "gone"), Value: math.Float64frombits(value.StaleNaN), Ms: 20},
			{Labels: labels.FromStrings("__name__", "gone_too"), Histogram: &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}, Ms: 20},
			{Labels: labels.EmptyLabels(), Value: math.Inf(-1), Ms: 30},
			{
				Labels: labels.FromStrings("__name__", "size", "a", "b"), Histogram: native, Ms: 40, StartMs: 5,
				Exemplars: []exemplar.Exemplar{
					{Labels: labels.FromStrings("trace_id", "f00"), Value: 0.5, Ts: 39, HasTs: true},
					{Value: 1e30},
				},
				Metadata: metadata.Metadata{Type: "histogram", Unit: "bytes", Help: "Sizes."},
			},
			{Labels: labels.FromStrings("__name__", "custom"), Histogram: custom, Ms: 50},
			{Labels: labels.FromStrings("__name__", "tiny"), Value: 1e-7, Ms: 60},
		},
		Verdicts: []converter.Verdict{
			{Rejected: true, Reason: "label", Metric: "a\"b", Detail: "an attribute is no valid label"},
			{Reason: "help_changed", Detail: "evil\x1b[31m"},
		},
		Left:   3,
		Report: converter.Report{Points: 9, Rejected: 1, Message: "rejected 1\nof 9"},
	}
}

func TestWriteText(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, odd().WriteText(&out))
	require.Equal(t, `{"http.größe", "b.c"="quoted \"x\"\n"} NaN @10
gone stale @20
gone_too stale @20
{} -Inf @30
size{a="b"} histogram @40 start=5
  count 7, sum +Inf, schema 0, zero threshold 0.001
  [-1,-0.5) 2
  [-0.001,0.001] 1
  (1,2] 4
  # {trace_id="f00"} 0.5 @39
  # {} 1e+30
custom histogram @50
  count 2, sum 3, custom bounds [0.5 1]
  (0.5,1] 2
tiny 1e-07 @60
REJECTED label: "a\"b": an attribute is no valid label
WARNING help_changed: evil\x1b[31m
and 3 more that are not listed
REPORT points=9 rejected=1: rejected 1\nof 9
`, out.String())
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, odd().WriteJSON(&out))
	require.JSONEq(t, `{
"series": [
	{"labels": {"__name__": "http.größe", "b.c": "quoted \"x\"\n"}, "value": "NaN", "ms": 10},
	{"labels": {"__name__": "gone"}, "value": "stale", "ms": 20},
	{"labels": {"__name__": "gone_too"}, "histogram": {"count": 0, "sum": "stale", "schema": 0, "zero_threshold": 0, "buckets": []}, "ms": 20},
	{"labels": {}, "value": "-Inf", "ms": 30},
	{"labels": {"__name__": "size", "a": "b"}, "ms": 40, "start_ms": 5, "type": "histogram", "unit": "bytes", "help": "Sizes.",
		"histogram": {"count": 7, "sum": "+Inf", "schema": 0, "zero_threshold": 0.001, "buckets": [
			{"lower": -1, "lower_inclusive": true, "upper": -0.5, "upper_inclusive": false, "count": 2},
			{"lower": -0.001, "lower_inclusive": true, "upper": 0.001, "upper_inclusive": true, "count": 1},
			{"lower": 1, "lower_inclusive": false, "upper": 2, "upper_inclusive": true, "count": 4}]},
		"exemplars": [{"labels": {"trace_id": "f00"}, "value": 0.5, "ms": 39}, {"labels": {}, "value": 1e30}]},
	{"labels": {"__name__": "custom"}, "ms": 50,
		"histogram": {"count": 2, "sum": 3, "schema": -53, "zero_threshold": 0, "custom_bounds": [0.5, 1], "buckets": [
			{"lower": 0.5, "lower_inclusive": false, "upper": 1, "upper_inclusive": true, "count": 2}]}},
	{"labels": {"__name__": "tiny"}, "value": 1e-7, "ms": 60}
],
"verdicts": [
	{"rejected": true, "reason": "label", "metric": "a\"b", "detail": "an attribute is no valid label"},
	{"rejected": false, "reason": "help_changed", "detail": "evil\u001b[31m"}
],
"verdicts_left": 3,
"report": {"points": 9, "rejected": 1, "message": "rejected 1\nof 9"}
}`, out.String())
}
