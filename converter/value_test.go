package converter_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// The bits of the staleness marker mean staleness, and a sender's own NaN
// must never have them (remote write specification, Staleness markers).
func TestRealNaNIsNotStale(t *testing.T) {
	req, err := convertertest.Metrics(`
		metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_double: nan } } }
		metrics { name: "s" summary { data_points { time_unix_nano: @1000 sum: nan quantile_values { value: nan } } } }
		metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @1000 sum: nan } } }
		metrics { name: "e" exponential_histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @1000 sum: nan } } }`)
	require.NoError(t, err)
	stale := math.Float64frombits(value.StaleNaN)
	for m := range metricsOf(req) {
		for _, p := range m.GetGauge().GetDataPoints() {
			p.Value = &metricspb.NumberDataPoint_AsDouble{AsDouble: stale}
		}
		for _, p := range m.GetSummary().GetDataPoints() {
			p.Sum, p.QuantileValues[0].Value = stale, stale
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			p.Sum = &stale
		}
		for _, p := range m.GetExponentialHistogram().GetDataPoints() {
			p.Sum = &stale
		}
	}
	b := newBench(t, readSettings(t, nil))
	report, err := b.push(convertertest.Ascending(req), false)
	require.NoError(t, err)
	require.Zero(t, report.Rejected, report.Message)
	nans := 0
	for _, s := range b.rec.Samples() {
		v := s.V
		if s.H != nil {
			v = s.H.Sum
		}
		require.False(t, value.IsStaleNaN(v), "%s", s)
		if math.IsNaN(v) {
			nans++
		}
	}
	require.Equal(t, 5, nans)
}

// A NaN of the sender's keeps its payload, and another payload at the same time
// is another value.
func TestNaNKeepsItsPayload(t *testing.T) {
	req, err := convertertest.Metrics(`metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_double: nan } } }`)
	require.NoError(t, err)
	b := newBench(t, readSettings(t, nil))
	const payload = 0x7ff80000c0ffee00
	for _, bits := range []uint64{payload, payload, payload + 1} {
		for m := range metricsOf(req) {
			m.GetGauge().DataPoints[0].Value = &metricspb.NumberDataPoint_AsDouble{AsDouble: math.Float64frombits(bits)}
		}
		report, err := b.push(convertertest.Ascending(req), false)
		require.NoError(t, err)
		if bits == payload {
			require.Zero(t, report.Rejected, report.Message)
		} else {
			require.Equal(t, 1, report.Rejected)
		}
	}
	samples := b.rec.Samples()
	require.Len(t, samples, 1)
	require.Equal(t, uint64(payload), math.Float64bits(samples[0].V))
}

// What is no OTLP is a DecodeError that says where, and stores nothing, though
// the fault comes after points that are in order.
func TestDecodeError(t *testing.T) {
	req, err := convertertest.Metrics(`
		metrics { name: "good" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } }`)
	require.NoError(t, err)
	good := convertertest.Ascending(req)
	json, err := convertertest.JSON(req)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		body string
		json bool
	}{
		"text":              {"hello", false},
		"torn":              {string(good[:len(good)-3]), false},
		"torn at the end":   {string(good) + "\x0a\x05\x0a", false},
		"field zero":        {string(good) + "\x00\x00", false},
		"wrong wire type":   {string(good) + "\x08\x01", false},
		"JSON as protobuf":  {string(json), false},
		"protobuf as JSON":  {string(good), true},
		"empty JSON":        {"", true},
		"torn JSON":         {string(json[:len(json)-4]), true},
		"JSON and more":     {string(json) + "x", true},
		"nested JSON":       {`{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", true},
		"wrong type of key": {`{"resourceMetrics":7}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, readSettings(t, nil))
			report, err := b.push([]byte(c.body), c.json)
			var decode *converter.DecodeError
			require.True(t, errors.As(err, &decode), "%v", err)
			require.NotEmpty(t, decode.Msg)
			require.GreaterOrEqual(t, decode.Offset, 0)
			require.LessOrEqual(t, decode.Offset, len(c.body))
			require.Zero(t, report.Rejected)
			require.Empty(t, b.rec.Samples())
			b.rec.AssertClean(t)

			report, err = b.push(good, false)
			require.NoError(t, err)
			require.Equal(t, converter.Report{Points: 1}, report)
			require.Equal(t, "good{instance=\"a1\", job=\"shop\"} 1 @1000\n", b.take(t, 0).series)
		})
	}
}

// Scaling down puts every count where the arithmetic of the two schemas
// puts it, for random scales, offsets and gaps.
func TestDownscaleAgainstBruteForce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 0))
	b := newBench(t, readSettings(t, nil))
	for n := range 300 {
		scale := int32(9 + rnd.IntN(12))
		p := &metricspb.ExponentialHistogramDataPoint{
			TimeUnixNano: uint64(n+1) * 1e9, Scale: scale, Sum: new(float64),
			Positive: randomBuckets(rnd), Negative: randomBuckets(rnd),
		}
		want := [2]map[int32]uint64{{}, {}}
		for side, buckets := range []*metricspb.ExponentialHistogramDataPoint_Buckets{p.Positive, p.Negative} {
			for i, count := range buckets.BucketCounts {
				// Bucket k of scale s ends at 2^((k+1)/2^s); the native bucket
				// that ends at or above it is ceil((k+1)/2^(s-8)).
				end := float64(int64(buckets.Offset)+int64(i)+1) / math.Exp2(float64(scale-8))
				if count > 0 {
					want[side][int32(math.Ceil(end))] += count
				}
				p.Count += count
			}
		}
		req := &colmetricspb.ExportMetricsServiceRequest{ResourceMetrics: []*metricspb.ResourceMetrics{{
			ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: []*metricspb.Metric{{
				Name: "e", Data: &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: &metricspb.ExponentialHistogram{
					AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
					DataPoints:             []*metricspb.ExponentialHistogramDataPoint{p},
				}},
			}}}},
		}}}
		report, err := b.push(convertertest.Ascending(req), false)
		require.NoError(t, err)
		require.Zero(t, report.Rejected, report.Message)
		samples := b.rec.Samples()
		b.rec.AssertClean(t)
		b.rec.Reset()
		require.Len(t, samples, 1)
		h := samples[0].H
		require.NoError(t, h.Validate())
		require.Equal(t, int32(8), h.Schema)
		require.Equal(t, p.Count, h.Count)
		note := fmt.Sprintf("scale %d, %v", scale, p)
		require.Equal(t, want[0], expand(h.PositiveSpans, h.PositiveBuckets), note)
		require.Equal(t, want[1], expand(h.NegativeSpans, h.NegativeBuckets), note)
	}
}

// A cumulative histogram that only grows, at a scale that has to come down, never
// falls in any bucket, whatever buckets are added below and above.
func TestDownscaledHistogramNeverFalls(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 1))
	for range 40 {
		b := newBench(t, readSettings(t, nil))
		scale, offset := int32(9+rnd.IntN(12)), int32(rnd.IntN(4000)-2000)
		counts := make([]uint64, 1+rnd.IntN(8))
		var before map[int32]uint64
		for n := range 20 {
			for range rnd.IntN(5) {
				counts[rnd.IntN(len(counts))]++
			}
			if below := rnd.IntN(40); rnd.IntN(3) == 0 {
				counts, offset = append(make([]uint64, below), counts...), offset-int32(below)
			}
			counts = append(counts, make([]uint64, rnd.IntN(20))...)
			req, err := convertertest.Metrics(fmt.Sprintf(`metrics { name: "e" exponential_histogram {
				aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
				data_points { time_unix_nano: @%d scale: %d sum: 1 count: %d positive { offset: %d bucket_counts: [%s] } } } }`,
				1000*(n+1), scale, total(counts), offset, strings.ReplaceAll(strings.Trim(fmt.Sprint(counts), "[]"), " ", ", ")))
			require.NoError(t, err)
			report, err := b.push(convertertest.Ascending(req), false)
			require.NoError(t, err)
			require.Zero(t, report.Rejected, report.Message)
			samples := b.rec.Samples()
			b.rec.Reset()
			require.Len(t, samples, 1)
			now := expand(samples[0].H.PositiveSpans, samples[0].H.PositiveBuckets)
			for index, count := range before {
				require.GreaterOrEqual(t, now[index], count, "bucket %d at scale %d", index, scale)
			}
			before = now
		}
	}
}

func randomBuckets(rnd *rand.Rand) *metricspb.ExponentialHistogramDataPoint_Buckets {
	b := &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: int32(rnd.IntN(2_000_000) - 1_000_000)}
	if rnd.IntN(2) == 0 {
		b.Offset = int32(rnd.IntN(64) - 32)
	}
	for range rnd.IntN(100) {
		b.BucketCounts = append(b.BucketCounts, uint64(rnd.IntN(3)*rnd.IntN(9)))
	}
	return b
}

// expand returns the counts of the buckets that are not empty, by native index.
func expand(spans []histogram.Span, deltas []int64) map[int32]uint64 {
	out := make(map[int32]uint64)
	index, count, n := int32(0), int64(0), 0
	for _, s := range spans {
		index += s.Offset
		for range s.Length {
			count += deltas[n]
			if count != 0 {
				out[index] = uint64(count)
			}
			n++
			index++
		}
	}
	return out
}
