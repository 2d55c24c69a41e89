package converter_test

import (
	"iter"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// metricsOf yields every metric of req.
func metricsOf(req *colmetricspb.ExportMetricsServiceRequest) iter.Seq[*metricspb.Metric] {
	return func(yield func(*metricspb.Metric) bool) {
		for _, r := range req.ResourceMetrics {
			for _, s := range r.ScopeMetrics {
				for _, m := range s.Metrics {
					if !yield(m) {
						return
					}
				}
			}
		}
	}
}

// dataPoint is what the points of all types have in common.
type dataPoint interface {
	GetAttributes() []*commonpb.KeyValue
	GetTimeUnixNano() uint64
	GetFlags() uint32
}

// point is a data point whose common fields can be changed.
type point struct {
	dataPoint
	attributes *[]*commonpb.KeyValue
	startNs    *uint64
	exemplars  *[]*metricspb.Exemplar // nil for summaries
}

func (p point) setAttributes(kvs []*commonpb.KeyValue) { *p.attributes = kvs }
func (p point) start() uint64                          { return *p.startNs }
func (p point) setStart(ns uint64)                     { *p.startNs = ns }

// pointsOf yields every point of m.
func pointsOf(m *metricspb.Metric) iter.Seq[point] {
	return func(yield func(point) bool) {
		for _, p := range append(m.GetGauge().GetDataPoints(), m.GetSum().GetDataPoints()...) {
			if !yield(point{p, &p.Attributes, &p.StartTimeUnixNano, &p.Exemplars}) {
				return
			}
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			if !yield(point{p, &p.Attributes, &p.StartTimeUnixNano, &p.Exemplars}) {
				return
			}
		}
		for _, p := range m.GetExponentialHistogram().GetDataPoints() {
			if !yield(point{p, &p.Attributes, &p.StartTimeUnixNano, &p.Exemplars}) {
				return
			}
		}
		for _, p := range m.GetSummary().GetDataPoints() {
			if !yield(point{p, &p.Attributes, &p.StartTimeUnixNano, nil}) {
				return
			}
		}
	}
}

// dropPoints takes the points out of m that f says.
func dropPoints(m *metricspb.Metric, f func(point) bool) {
	if g := m.GetGauge(); g != nil {
		g.DataPoints = slices.DeleteFunc(g.DataPoints, func(p *metricspb.NumberDataPoint) bool { return f(point{dataPoint: p}) })
	}
	if s := m.GetSum(); s != nil {
		s.DataPoints = slices.DeleteFunc(s.DataPoints, func(p *metricspb.NumberDataPoint) bool { return f(point{dataPoint: p}) })
	}
	if h := m.GetHistogram(); h != nil {
		h.DataPoints = slices.DeleteFunc(h.DataPoints, func(p *metricspb.HistogramDataPoint) bool { return f(point{dataPoint: p}) })
	}
	if h := m.GetExponentialHistogram(); h != nil {
		h.DataPoints = slices.DeleteFunc(h.DataPoints, func(p *metricspb.ExponentialHistogramDataPoint) bool { return f(point{dataPoint: p}) })
	}
	if s := m.GetSummary(); s != nil {
		s.DataPoints = slices.DeleteFunc(s.DataPoints, func(p *metricspb.SummaryDataPoint) bool { return f(point{dataPoint: p}) })
	}
}

// contradicts reports whether a histogram's count is not the sum of its buckets.
func contradicts(p dataPoint) bool {
	switch p := p.(type) {
	case *metricspb.HistogramDataPoint:
		return len(p.BucketCounts) > 0 && p.Count != total(p.BucketCounts)
	case *metricspb.ExponentialHistogramDataPoint:
		return p.Count != p.ZeroCount+total(p.GetPositive().GetBucketCounts())+total(p.GetNegative().GetBucketCounts())
	}
	return false
}

func total(counts []uint64) (sum uint64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// exemplarsOf yields every exemplar of req with the time of its point in ns.
func exemplarsOf(req *colmetricspb.ExportMetricsServiceRequest) iter.Seq2[*metricspb.Exemplar, uint64] {
	return func(yield func(*metricspb.Exemplar, uint64) bool) {
		for m := range metricsOf(req) {
			for p := range pointsOf(m) {
				if p.exemplars == nil {
					continue
				}
				for _, e := range *p.exemplars {
					if !yield(e, p.GetTimeUnixNano()) {
						return
					}
				}
			}
		}
	}
}

func exemplarValue(e *metricspb.Exemplar) float64 {
	if v, ok := e.Value.(*metricspb.Exemplar_AsInt); ok {
		return float64(v.AsInt)
	}
	return e.GetAsDouble()
}

// attributeOf returns the first attribute of that key, or nil.
func attributeOf(attributes []*commonpb.KeyValue, key string) *commonpb.KeyValue {
	for _, kv := range attributes {
		if kv.Key == key {
			return kv
		}
	}
	return nil
}

// attributeText returns a value of the kinds that worlds have, as pdata prints
// it.
func attributeText(v *commonpb.AnyValue) string {
	out := pcommon.NewValueEmpty()
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		out.SetStr(v.StringValue)
	case *commonpb.AnyValue_IntValue:
		out.SetInt(v.IntValue)
	case *commonpb.AnyValue_BoolValue:
		out.SetBool(v.BoolValue)
	case *commonpb.AnyValue_DoubleValue:
		out.SetDouble(v.DoubleValue)
	case *commonpb.AnyValue_ArrayValue:
		list := out.SetEmptySlice()
		for _, e := range v.ArrayValue.Values {
			list.AppendEmpty().SetStr(e.GetStringValue())
		}
	}
	return out.AsString()
}
