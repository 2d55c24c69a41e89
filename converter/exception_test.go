package converter_test

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// exception is a rule of ours that Prometheus's converter does not follow, as
// the change of its input, or of its output, after which the two agree.
type exception struct {
	name, why string
	edit      func(*colmetricspb.ExportMetricsServiceRequest, settings)
	fix       func([]storagetest.Sample, *colmetricspb.ExportMetricsServiceRequest, settings)
}

var exceptions = []exception{
	{
		name: "zero threshold", why: "T20: Prometheus always writes 1e-128",
		fix: func(out []storagetest.Sample, req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			thresholds := zeroThresholds(req)
			for i := range out {
				if h := out[i].H; h != nil && h.ZeroThreshold != 0 {
					h.ZeroThreshold = thresholds[worldMetric.FindString(out[i].MetricFamilyName)]
				}
			}
		},
	},
	{
		name: "exemplars of sums that are gauges", why: "compat spec, Gauges: exemplars are dropped; Prometheus keeps them",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				if s := m.GetSum(); s != nil && !s.IsMonotonic {
					for p := range pointsOf(m) {
						*p.exemplars = nil
					}
				}
			}
		},
	},
	{
		name: "exemplars of what ends", why: "T23: a stale point has nothing but attributes and times; Prometheus keeps its exemplars",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				for p := range pointsOf(m) {
					if p.GetFlags()&1 != 0 && p.exemplars != nil {
						*p.exemplars = nil
					}
				}
			}
		},
	},
	{
		name: "exemplar order", why: "T22: Prometheus takes exemplars to be sorted by value",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				for _, p := range m.GetHistogram().GetDataPoints() {
					slices.SortStableFunc(p.Exemplars, func(a, b *metricspb.Exemplar) int {
						return cmp.Compare(exemplarValue(a), exemplarValue(b))
					})
				}
			}
		},
	},
	{
		name: "exemplar label names", why: "T22: Prometheus does not translate them",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			if s.Strategy != "" && !s.Strategy.ShouldEscape() {
				return
			}
			for e := range exemplarsOf(req) {
				for _, kv := range e.FilteredAttributes {
					kv.Key = strings.ReplaceAll(kv.Key, ".", "_")
				}
			}
		},
	},
	{
		name: "exemplar time", why: "decision 10: an exemplar without time takes its point's",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for e, at := range exemplarsOf(req) {
				if e.TimeUnixNano == 0 {
					e.TimeUnixNano = at
				}
			}
		},
	},
	{
		name: "reserved labels", why: "T13, decision 3: job, and le where the type uses it, become exported_; Prometheus overwrites them",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			for m := range metricsOf(req) {
				for p := range pointsOf(m) {
					for _, kv := range p.GetAttributes() {
						if kv.Key == "job" || kv.Key == "le" && m.GetHistogram() != nil && !s.NHCB {
							kv.Key = "exported_" + kv.Key
						}
					}
				}
			}
		},
	},
	{
		name: "__x__ attributes", why: "decision 3: dropped; Prometheus stores them",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				for p := range pointsOf(m) {
					p.setAttributes(slices.DeleteFunc(p.GetAttributes(), func(kv *commonpb.KeyValue) bool {
						return strings.HasPrefix(kv.Key, "__") && strings.HasSuffix(kv.Key, "__")
					}))
				}
			}
		},
	},
	{
		name: "nameless scope", why: "compat spec, Instrumentation Scope: version, schema URL and attributes are labels whatever the name; Prometheus leaves all out",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for _, r := range req.ResourceMetrics {
				for _, s := range r.ScopeMetrics {
					if s.GetScope().GetName() == "" {
						if s.Scope == nil {
							s.Scope = new(commonpb.InstrumentationScope)
						}
						s.Scope.Name = nameless
					}
				}
			}
		},
		fix: func(out []storagetest.Sample, _ *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for i := range out {
				if out[i].Labels.Get("otel_scope_name") == nameless {
					out[i].Labels = labels.NewBuilder(out[i].Labels).Del("otel_scope_name").Labels()
				}
			}
		},
	},
	{
		name: "start that equals the time", why: "T25: it is no start; Prometheus passes it on",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				for p := range pointsOf(m) {
					if p.start() == p.GetTimeUnixNano() {
						p.setStart(0)
					}
				}
			}
		},
	},
	{
		name: "start of a gauge", why: "remote write 2.0: starts are for counters and histograms; Prometheus passes on what a sum that is a gauge has",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				if m.GetGauge() != nil || m.GetSum() != nil && !m.GetSum().IsMonotonic {
					for p := range pointsOf(m) {
						p.setStart(0)
					}
				}
			}
		},
	},
	{
		name: "promoted keys that meet", why: "compat spec, Metric Attributes: joined, as Prometheus itself does in target_info; elsewhere it keeps one",
		fix: func(out []storagetest.Sample, _ *colmetricspb.ExportMetricsServiceRequest, s settings) {
			target := func(s storagetest.Sample) string { return s.Labels.Get("job") + "\xff" + s.Labels.Get("instance") }
			joined := make(map[string]string)
			for _, s := range out {
				if isTargetInfo(s) {
					joined[target(s)] = s.Labels.Get("host_name")
				}
			}
			for i, sample := range out {
				if v := joined[target(sample)]; s.PromoteAll && strings.Contains(v, ";") {
					out[i].Labels = labels.NewBuilder(sample.Labels).Set("host_name", v).Labels()
				}
			}
		},
	},
	{
		name: "target_info of what was rejected", why: "target_info describes series, so a resource of which no point was accepted has none; Prometheus counts the points that it leaves out",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for _, r := range req.ResourceMetrics {
				for _, s := range r.ScopeMetrics {
					s.Metrics = slices.DeleteFunc(s.Metrics, func(m *metricspb.Metric) bool {
						switch m.Data.(type) {
						case *metricspb.Metric_Gauge, *metricspb.Metric_Summary:
							return false
						}
						temporality := cmp.Or(m.GetSum().GetAggregationTemporality(),
							m.GetHistogram().GetAggregationTemporality(), m.GetExponentialHistogram().GetAggregationTemporality())
						return temporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
					})
				}
			}
		},
	},
	{
		name: "empty namespace", why: "compat spec, Resource Attributes: job is the name alone; Prometheus writes /name",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for _, r := range req.ResourceMetrics {
				r.Resource.Attributes = slices.DeleteFunc(r.Resource.Attributes, func(kv *commonpb.KeyValue) bool {
					return kv.Key == "service.namespace" && kv.GetValue().GetStringValue() == ""
				})
			}
		},
	},
	{
		name: "exponential histogram without sum", why: "compat spec, Exponential Histograms: dropped; Prometheus writes the sum 0",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				if h := m.GetExponentialHistogram(); h != nil {
					h.DataPoints = slices.DeleteFunc(h.DataPoints, func(p *metricspb.ExponentialHistogramDataPoint) bool {
						return p.Sum == nil && p.Flags == 0
					})
				}
			}
		},
	},
	{
		name: "NHCB without sum", why: "a native histogram cannot leave its sum out, so the point is dropped as exponential ones are; Prometheus writes the sum 0",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			for m := range metricsOf(req) {
				if h := m.GetHistogram(); h != nil && s.NHCB {
					h.DataPoints = slices.DeleteFunc(h.DataPoints, func(p *metricspb.HistogramDataPoint) bool {
						return p.Sum == nil && p.Flags == 0
					})
				}
			}
		},
	},
	{
		name: "NHCB infinite bound", why: "T21: no custom value is infinite; Prometheus's own store refuses what it makes of it",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			for m := range metricsOf(req) {
				for _, p := range m.GetHistogram().GetDataPoints() {
					if n := len(p.ExplicitBounds); s.NHCB && n > 0 && math.IsInf(p.ExplicitBounds[n-1], 1) {
						p.ExplicitBounds, p.BucketCounts = p.ExplicitBounds[:n-1], p.BucketCounts[:n]
					}
				}
			}
		},
	},
	{
		name: "NHCB count and sum only", why: "T21: all observations are in the one bucket; Prometheus writes none",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			for m := range metricsOf(req) {
				for _, p := range m.GetHistogram().GetDataPoints() {
					if s.NHCB && len(p.ExplicitBounds) == 0 && len(p.BucketCounts) == 0 {
						p.BucketCounts = []uint64{p.Count}
					}
				}
			}
		},
	},
}

// nameless stands for a scope's missing name in what Prometheus gets.
const nameless = "a scope without a name"

// zeroThresholds returns what the exponential histograms of req ask for, by
// [worldMetric].
func zeroThresholds(req *colmetricspb.ExportMetricsServiceRequest) map[string]float64 {
	out := make(map[string]float64)
	for m := range metricsOf(req) {
		for _, p := range m.GetExponentialHistogram().GetDataPoints() {
			out[worldMetric.FindString(m.Name)] = cmp.Or(p.ZeroThreshold, 1e-128)
		}
	}
	return out
}

// worldMetric finds the part of a metric's name that the world makes unique and
// no strategy changes.
var worldMetric = regexp.MustCompile(`m[0-9]+`)

func isTargetInfo(s storagetest.Sample) bool {
	return strings.HasSuffix(s.Labels.Get(model.MetricNameLabel), "target_info")
}
