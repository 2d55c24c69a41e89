package otlp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// TestJSONRoundTrip takes random requests through pdata's JSON marshaler and
// AppendJSON back to pdata.
func TestJSONRoundTrip(t *testing.T) {
	for seed := range uint64(400) {
		r := jsonRandom{rand.New(rand.NewPCG(seed, 1))}
		request := pmetricotlp.NewExportRequestFromMetrics(r.metrics())
		want, err := request.MarshalProto()
		require.NoError(t, err)
		src, err := request.MarshalJSON()
		require.NoError(t, err)
		out, err := AppendJSON(nil, src)
		require.NoError(t, err, "seed %d: %s", seed, src)
		require.Equal(t, want, jsonByPdata(t, out), "seed %d: %s", seed, src)
		message := &collectormetrics.ExportMetricsServiceRequest{}
		require.NoError(t, proto.Unmarshal(out, message))
		require.Equal(t, proto.Size(message), len(out))
	}
}

// jsonRandom makes requests that use every field of OTLP metrics.
type jsonRandom struct{ *rand.Rand }

func (r jsonRandom) chance(percent int) bool { return r.IntN(100) < percent }

func (r jsonRandom) count() int { return r.IntN(4) }

func (r jsonRandom) text() string {
	texts := []string{"", "a", "service.name", "with \"quotes\" and \\", "tab\tnewline\n\x00\x1f\x7f", "<html>&amp;", "größe", "日本語", "😀", "\u2028\u2029", "\uFFFD\uFEFF", string(make([]byte, 200))}
	return texts[r.IntN(len(texts))]
}

func (r jsonRandom) double() float64 {
	doubles := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1), 1 << 53}
	if i := r.IntN(2 * len(doubles)); i < len(doubles) {
		return doubles[i]
	}
	for {
		if v := math.Float64frombits(r.Uint64()); v == v && !math.IsInf(v, 0) {
			return v
		}
	}
}

func (r jsonRandom) uint64() uint64 { return r.Uint64() >> r.IntN(65) }

func (r jsonRandom) int64() int64 { return int64(r.Uint64()) >> r.IntN(64) }

func (r jsonRandom) time() pcommon.Timestamp { return pcommon.Timestamp(r.uint64()) }

func (r jsonRandom) value(v pcommon.Value, depth int) {
	switch r.IntN(8) {
	case 0:
		v.SetStr(r.text())
	case 1:
		v.SetBool(r.chance(50))
	case 2:
		v.SetInt(r.int64())
	case 3:
		v.SetDouble(r.double())
	case 4:
		b := make([]byte, r.IntN(10))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		v.SetEmptyBytes().FromRaw(b)
	case 5:
		s := v.SetEmptySlice()
		for range r.count() {
			if e := s.AppendEmpty(); depth < 10 {
				r.value(e, depth+1)
			}
		}
	case 6:
		m := v.SetEmptyMap()
		if depth < 10 {
			r.attributes(m, depth+1)
		}
	}
}

func (r jsonRandom) attributes(m pcommon.Map, depth int) {
	for range r.count() {
		r.value(m.PutEmpty(r.text()), depth)
	}
}

func (r jsonRandom) metrics() pmetric.Metrics {
	md := pmetric.NewMetrics()
	for range r.count() {
		rm := md.ResourceMetrics().AppendEmpty()
		rm.SetSchemaUrl(r.text())
		r.attributes(rm.Resource().Attributes(), 0)
		rm.Resource().SetDroppedAttributesCount(uint32(r.uint64()))
		for range r.count() {
			sm := rm.ScopeMetrics().AppendEmpty()
			sm.SetSchemaUrl(r.text())
			sm.Scope().SetName(r.text())
			sm.Scope().SetVersion(r.text())
			r.attributes(sm.Scope().Attributes(), 0)
			sm.Scope().SetDroppedAttributesCount(uint32(r.uint64()))
			for range r.count() {
				r.metric(sm.Metrics().AppendEmpty())
			}
		}
	}
	return md
}

func (r jsonRandom) metric(m pmetric.Metric) {
	m.SetName(r.text())
	m.SetDescription(r.text())
	m.SetUnit(r.text())
	r.attributes(m.Metadata(), 0)
	temporality := pmetric.AggregationTemporality(r.IntN(4))
	switch r.IntN(6) {
	case 0:
		r.numbers(m.SetEmptyGauge().DataPoints())
	case 1:
		m.SetEmptySum().SetAggregationTemporality(temporality)
		m.Sum().SetIsMonotonic(r.chance(50))
		r.numbers(m.Sum().DataPoints())
	case 2:
		m.SetEmptyHistogram().SetAggregationTemporality(temporality)
		r.histograms(m.Histogram().DataPoints())
	case 3:
		m.SetEmptyExponentialHistogram().SetAggregationTemporality(temporality)
		r.exponentials(m.ExponentialHistogram().DataPoints())
	case 4:
		r.summaries(m.SetEmptySummary().DataPoints())
	}
}

func (r jsonRandom) numbers(points pmetric.NumberDataPointSlice) {
	for range r.count() {
		p := points.AppendEmpty()
		r.attributes(p.Attributes(), 0)
		p.SetStartTimestamp(r.time())
		p.SetTimestamp(r.time())
		p.SetFlags(pmetric.DataPointFlags(r.uint64()))
		switch r.IntN(3) {
		case 0:
			p.SetDoubleValue(r.double())
		case 1:
			p.SetIntValue(r.int64())
		}
		r.exemplars(p.Exemplars())
	}
}

func (r jsonRandom) histograms(points pmetric.HistogramDataPointSlice) {
	for range r.count() {
		p := points.AppendEmpty()
		r.attributes(p.Attributes(), 0)
		p.SetStartTimestamp(r.time())
		p.SetTimestamp(r.time())
		p.SetCount(r.uint64())
		p.SetFlags(pmetric.DataPointFlags(r.uint64()))
		if r.chance(50) {
			p.SetSum(r.double())
			p.SetMin(r.double())
			p.SetMax(r.double())
		}
		for range r.IntN(20) {
			p.BucketCounts().Append(r.uint64())
			p.ExplicitBounds().Append(r.double())
		}
		r.exemplars(p.Exemplars())
	}
}

func (r jsonRandom) exponentials(points pmetric.ExponentialHistogramDataPointSlice) {
	for range r.count() {
		p := points.AppendEmpty()
		r.attributes(p.Attributes(), 0)
		p.SetStartTimestamp(r.time())
		p.SetTimestamp(r.time())
		p.SetCount(r.uint64())
		p.SetZeroCount(r.uint64())
		p.SetZeroThreshold(r.double())
		p.SetScale(int32(r.int64()))
		p.SetFlags(pmetric.DataPointFlags(r.uint64()))
		if r.chance(50) {
			p.SetSum(r.double())
			p.SetMin(r.double())
			p.SetMax(r.double())
		}
		for _, b := range []pmetric.ExponentialHistogramDataPointBuckets{p.Positive(), p.Negative()} {
			b.SetOffset(int32(r.int64()))
			for range r.IntN(20) {
				b.BucketCounts().Append(r.uint64())
			}
		}
		r.exemplars(p.Exemplars())
	}
}

func (r jsonRandom) summaries(points pmetric.SummaryDataPointSlice) {
	for range r.count() {
		p := points.AppendEmpty()
		r.attributes(p.Attributes(), 0)
		p.SetStartTimestamp(r.time())
		p.SetTimestamp(r.time())
		p.SetCount(r.uint64())
		p.SetSum(r.double())
		p.SetFlags(pmetric.DataPointFlags(r.uint64()))
		for range r.count() {
			q := p.QuantileValues().AppendEmpty()
			q.SetQuantile(r.double())
			q.SetValue(r.double())
		}
	}
}

func (r jsonRandom) exemplars(exemplars pmetric.ExemplarSlice) {
	for range r.count() {
		e := exemplars.AppendEmpty()
		r.attributes(e.FilteredAttributes(), 0)
		e.SetTimestamp(r.time())
		switch r.IntN(3) {
		case 0:
			e.SetDoubleValue(r.double())
		case 1:
			e.SetIntValue(r.int64())
		}
		if r.chance(50) {
			var trace pcommon.TraceID
			var span pcommon.SpanID
			for i := range trace {
				trace[i] = byte(r.Uint32())
			}
			copy(span[:], trace[4:])
			e.SetTraceID(trace)
			e.SetSpanID(span)
		}
	}
}
