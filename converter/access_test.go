package converter_test

import (
	"iter"

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
