package converter_test

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// exception is a rule of ours that Prometheus's converter does not follow, as
// the change of its input, or of its output, after which the two agree. Name and
// why are a row of docs/compatibility.md: why begins with the rule of a
// specification that ours follows, or with the word Decision.
type exception struct {
	name, why string
	edit      func(*colmetricspb.ExportMetricsServiceRequest, settings)
	fix       func([]storagetest.Sample, *colmetricspb.ExportMetricsServiceRequest, settings) []storagetest.Sample
}

var exceptions = []exception{
	{
		name: "point without a value",
		why:  "metrics.proto, NumberDataPoint: a point without a value is invalid, and is rejected. Prometheus stores 0.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				dropPoints(m, func(p point) bool {
					n, ok := p.dataPoint.(*metricspb.NumberDataPoint)
					return ok && n.Value == nil && n.Flags == 0
				})
			}
		},
	},
	{
		name: "point without a time",
		why:  "metrics.proto, time_unix_nano: the time is required, and a point without it is rejected. Prometheus stores it at 1970, and writes target_info for every few minutes since then.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				dropPoints(m, func(p point) bool { return p.GetTimeUnixNano() == 0 })
			}
		},
	},
	{
		name: "count that contradicts the buckets",
		why:  "metrics.proto, HistogramDataPoint and ExponentialHistogramDataPoint: the count must be the sum of the buckets; such a point is rejected. Prometheus passes it on.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				dropPoints(m, func(p point) bool { return p.GetFlags() == 0 && contradicts(p.dataPoint) })
			}
		},
	},
	{
		name: "same point twice",
		why:  "Data model, Single-Writer: receivers eliminate what comes twice. For one time of a series the first value stays, the same again is one sample, and another is rejected. Prometheus passes all of them on.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for m := range metricsOf(req) {
				seen := make(map[string]bool)
				dropPoints(m, func(p point) bool {
					key := strconv.FormatUint(p.GetTimeUnixNano()/1e6, 10)
					for _, kv := range p.GetAttributes() {
						key += "\xff" + kv.Key + "\xff" + attributeText(kv.Value)
					}
					again := seen[key]
					seen[key] = true
					return again
				})
			}
		},
	},
	{
		name: "key of which nothing is left",
		why:  "Decision: an attribute key of which escaping leaves only underscores becomes key_, and its point is kept. Prometheus refuses the metric.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			for m := range metricsOf(req) {
				for p := range pointsOf(m) {
					if kv := attributeOf(p.GetAttributes(), "地域"); kv != nil && s.escapes() {
						kv.Key = "key_"
					}
				}
			}
		},
	},
	{
		name: "zero threshold",
		why:  "Compatibility spec, Exponential Histograms: the sender's zero threshold is kept. Prometheus always writes 1e-128.",
		fix: func(out []storagetest.Sample, req *colmetricspb.ExportMetricsServiceRequest, _ settings) []storagetest.Sample {
			thresholds := zeroThresholds(req)
			for i := range out {
				if h := out[i].H; h != nil && h.ZeroThreshold != 0 {
					h.ZeroThreshold = thresholds[worldMetric.FindString(out[i].MetricFamilyName)]
				}
			}
			return out
		},
	},
	{
		name: "exemplars of sums that are gauges",
		why:  "Compatibility spec, Gauges and Sums: a sum that is not monotonic is a gauge, and exemplars of gauges are dropped. Prometheus keeps them.",
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
		name: "exemplars of what ends",
		why:  "Data model, No Recorded Value: such a point has attributes and times and nothing else. Prometheus keeps its exemplars.",
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
		name: "exemplar order",
		why:  "Compatibility spec, Histograms: an exemplar belongs to the bucket of its value. Prometheus takes exemplars to be sorted by value, and puts others into a later bucket.",
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
		name: "exemplar label names",
		why:  "Compatibility spec, Metric Attributes: filtered attributes are attributes and are translated like them. Prometheus leaves their names as they are.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			if !s.escapes() {
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
		name: "exemplar time",
		why:  "Remote write 2.0: an exemplar must have a time, so one without takes its point's. Prometheus writes 1970.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for e, at := range exemplarsOf(req) {
				if e.TimeUnixNano == 0 {
					e.TimeUnixNano = at
				}
			}
		},
	},
	{
		name: "reserved labels",
		why:  "Decision: a point's attribute named job or instance, where the resource sets them, or le or quantile, where the type uses them, becomes exported_job and so on, as in a scrape. Prometheus overwrites it.",
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
		name: "`__x__` attributes",
		why:  "Decision: labels of the form `__x__` are Prometheus's own, and attributes of that form are dropped. Prometheus stores them.",
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
		name: "nameless scope",
		why:  "Compatibility spec, Instrumentation Scope: version, schema URL and attributes are labels whatever the name. Prometheus leaves all of them out when the name is empty.",
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
		fix: func(out []storagetest.Sample, _ *colmetricspb.ExportMetricsServiceRequest, _ settings) []storagetest.Sample {
			for i := range out {
				if out[i].Labels.Get("otel_scope_name") == nameless {
					out[i].Labels = labels.NewBuilder(out[i].Labels).Del("otel_scope_name").Labels()
				}
			}
			return out
		},
	},
	{
		name: "start that equals the time",
		why:  "Data model, unknown start time: a start at the point's own time says that the start is not known. Prometheus passes it on.",
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
		name: "start of a gauge",
		why:  "Remote write 2.0: start timestamps are for counters and histograms. Prometheus passes on the one of a sum that is a gauge.",
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
		name: "promoted keys that meet",
		why:  "Compatibility spec, Metric Attributes: values of keys that meet in one label are joined, as Prometheus itself does in target_info. Elsewhere it keeps one of them.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, s settings) {
			if !s.PromoteAll || !s.escapes() {
				return
			}
			for _, r := range req.ResourceMetrics {
				a, b := attributeOf(r.Resource.Attributes, "host.name"), attributeOf(r.Resource.Attributes, "host_name")
				if a != nil && b != nil {
					b.Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: attributeText(a.Value) + ";" + attributeText(b.Value)}}
					r.Resource.Attributes = slices.DeleteFunc(r.Resource.Attributes, func(kv *commonpb.KeyValue) bool { return kv == a })
				}
			}
		},
	},
	{
		name: "target_info of what was rejected",
		why:  "Decision: target_info describes series, so a resource of which no point was accepted writes none. Prometheus counts the points that it leaves out.",
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
		name: "target_info of the past",
		why:  "Decision: one target_info for each request and resource, at the time of its newest point. Prometheus also writes it at the oldest one's and in between.",
		fix: func(out []storagetest.Sample, _ *colmetricspb.ExportMetricsServiceRequest, _ settings) []storagetest.Sample {
			newest := make(map[string]int64)
			for _, s := range out {
				newest[s.Labels.String()] = max(newest[s.Labels.String()], s.T)
			}
			return slices.DeleteFunc(out, func(s storagetest.Sample) bool {
				return strings.HasSuffix(s.MetricFamilyName, "target_info") && s.T < newest[s.Labels.String()]
			})
		},
	},
	{
		name: "empty namespace",
		why:  "Compatibility spec, Resource Attributes: with an empty service.namespace the job is the name alone. Prometheus writes /name.",
		edit: func(req *colmetricspb.ExportMetricsServiceRequest, _ settings) {
			for _, r := range req.ResourceMetrics {
				r.Resource.Attributes = slices.DeleteFunc(r.Resource.Attributes, func(kv *commonpb.KeyValue) bool {
					return kv.Key == "service.namespace" && kv.GetValue().GetStringValue() == ""
				})
			}
		},
	},
	{
		name: "exponential histogram without sum",
		why:  "Compatibility spec, Exponential Histograms: a point without a sum is dropped. Prometheus writes the sum 0.",
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
		name: "NHCB without sum",
		why:  "Decision: a native histogram cannot leave its sum out, so a point without one is rejected, as exponential ones are. Prometheus writes the sum 0.",
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
		name: "NHCB infinite bound",
		why:  "Native histogram spec: no custom value is infinite. Prometheus writes it, and its own storage refuses that.",
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
		name: "NHCB count and sum only",
		why:  "metrics.proto, HistogramDataPoint: without bounds there is one bucket that holds every observation. Prometheus writes no bucket.",
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

// escapes reports whether the strategy leaves only the characters that
// Prometheus has always had.
func (s settings) escapes() bool { return s.Strategy == "" || s.Strategy.ShouldEscape() }
