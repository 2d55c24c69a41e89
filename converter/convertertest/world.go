package convertertest

import (
	"fmt"
	"math"
	"math/rand/v2"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// World is a set of services that export the same streams again and again, as
// SDKs do: resources, scopes, metrics and attribute sets are invented once from
// the seed, and every request brings new values for some of them. No two
// resources share a job and instance, and no two metrics a name, so that every
// stream is a series of its own. Some points are broken, come twice or come late
// within their request.
type World struct {
	rnd      *rand.Rand
	services []*service
	metrics  int
	// ms is the time of the last request, in ms after the epoch, and beforeMs
	// that of the one before.
	ms, beforeMs uint64
	// startMs is when all streams began.
	startMs uint64
}

type service struct {
	resource  *resourcepb.Resource
	schemaURL string
	scopes    []*scope
}

type scope struct {
	scope     *commonpb.InstrumentationScope
	schemaURL string
	metrics   []*stream
}

// stream is one metric of one scope with its attribute sets.
type stream struct {
	template *metricspb.Metric
	bounds   []float64
	hasSum   bool
	scale    int32
	// threshold is the zero threshold, 0 for none.
	threshold float64
	sets      [][]*commonpb.KeyValue
	counts    []uint64
}

// NewWorld invents a world of which all streams begin at startMs, in ms after
// the epoch.
func NewWorld(seed, startMs uint64) *World {
	w := &World{rnd: rand.New(rand.NewPCG(seed, 0x0717)), startMs: startMs, ms: startMs}
	for i := range 2 + w.rnd.IntN(4) {
		w.services = append(w.services, w.service(i, seed))
	}
	return w
}

// Request returns the next export, which is later than all before it.
func (w *World) Request() *colmetricspb.ExportMetricsServiceRequest {
	w.beforeMs = w.ms
	w.ms += uint64(1 + w.rnd.IntN(60_000))
	req := new(colmetricspb.ExportMetricsServiceRequest)
	always := w.rnd.IntN(len(w.services))
	for i, s := range w.services {
		if i == always || w.chance(60) {
			req.ResourceMetrics = append(req.ResourceMetrics, w.export(s))
		}
	}
	return req
}

// NowMs is the time of the last request, in ms after the epoch.
func (w *World) NowMs() uint64 { return w.ms }

func (w *World) chance(percent int) bool { return w.rnd.IntN(100) < percent }

func pick[T any](w *World, from ...T) T { return from[w.rnd.IntN(len(from))] }

func (w *World) service(i int, seed uint64) *service {
	s := &service{resource: new(resourcepb.Resource), schemaURL: pick(w, "", "https://opentelemetry.io/schemas/1.26.0")}
	var attrs []*commonpb.KeyValue
	// Without a name or an instance a resource may be confused with another.
	name := fmt.Sprintf("svc-%d-%d", seed%1000, i)
	attrs = append(attrs, text("service.name", name))
	if w.chance(40) {
		attrs = append(attrs, text("service.namespace", pick(w, "shop", "core", "")))
	}
	if w.chance(80) {
		attrs = append(attrs, text("service.instance.id", fmt.Sprintf("i-%d", i)))
	}
	attrs = append(attrs, w.attributes([]string{
		"host.name", "k8s.pod.name", "k8s.namespace.name", "telemetry.sdk.name", "region", "process.pid", "host_name",
		"deployment.environment.name", "cloud.availability_zone",
	}, 5)...)
	if w.chance(20) {
		attrs = append(attrs, &commonpb.KeyValue{Key: "process.command_args", Value: array("run", "--fast", `a "quoted" <b>`)})
	}
	s.resource.Attributes = attrs
	for range 1 + w.rnd.IntN(3) {
		s.scopes = append(s.scopes, w.scope())
	}
	return s
}

func (w *World) scope() *scope {
	s := &scope{schemaURL: pick(w, "", "", "https://opentelemetry.io/schemas/1.27.0")}
	if w.chance(90) {
		s.scope = &commonpb.InstrumentationScope{
			Name:    pick(w, "go.opentelemetry.io/contrib/otelhttp", "io.opentelemetry.jvm", "app", ""),
			Version: pick(w, "", "0.60.0", "1.2.3-alpha"),
		}
		if w.chance(30) {
			s.scope.Attributes = w.attributes([]string{"tier", "short.name", "team_name", "name", "version"}, 3)
		}
	}
	for range 1 + w.rnd.IntN(4) {
		s.metrics = append(s.metrics, w.stream())
	}
	return s
}

func (w *World) stream() *stream {
	w.metrics++
	unique := fmt.Sprintf("m%d", w.metrics)
	name := pick(w, "http.server.%s.duration", "%s", "process_%s", "jvm.%s/used", "9%s.live", "%s.total", "db:%s__ops", "%s-bytes", "größe.%s")
	s := &stream{template: &metricspb.Metric{
		Name:        fmt.Sprintf(name, unique),
		Description: pick(w, "", "What it counts.", "Zeilen\nmit \"Anführung\""),
		Unit:        pick(w, "", "", "1", "s", "By", "ms", "{request}", "By/s", "kBy", "%", "{packet}/s", "custom_unit"),
	}}
	switch w.rnd.IntN(10) {
	case 0, 1:
		s.template.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{}}
	case 2, 3:
		s.template.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{IsMonotonic: true, AggregationTemporality: w.temporality()}}
	case 4:
		s.template.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{AggregationTemporality: w.temporality()}}
	case 5, 6:
		s.template.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{AggregationTemporality: w.temporality()}}
		s.bounds = pick(w, nil, []float64{0, 5, 10, 25, 50, 75, 100, 1e4}, []float64{0.005, 0.01, 0.1, 2.5},
			[]float64{-1, 1e-9, 1e21}, []float64{1, 2, math.Inf(1)})
	case 7, 8:
		s.template.Data = &metricspb.Metric_ExponentialHistogram{
			ExponentialHistogram: &metricspb.ExponentialHistogram{AggregationTemporality: w.temporality()},
		}
		s.scale = int32(w.rnd.IntN(25) - 4)
		s.threshold = pick(w, 0, 0, 0.25)
	case 9:
		s.template.Data = &metricspb.Metric_Summary{Summary: &metricspb.Summary{}}
		s.bounds = pick(w, nil, []float64{0.5, 0.99}, []float64{0, 0.25, 1})
	}
	s.hasSum = w.chance(85)
	for i := range 1 + w.rnd.IntN(4) {
		set := w.attributes([]string{
			"http.request.method", "http.response.status_code", "url.path", "k", "k.a", "k_a", "region", "error", "ratio", "le", "job", "_private", "9lives", "__meta__", "tags", "地域",
		}, 4)
		if i > 0 {
			// Whatever becomes of the others, this one keeps the sets apart.
			set = append(set, text("set", fmt.Sprint(i)))
		}
		s.sets = append(s.sets, set)
	}
	s.counts = make([]uint64, len(s.sets))
	return s
}

func (w *World) temporality() metricspb.AggregationTemporality {
	if w.chance(5) {
		return pick(w, metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA, metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED)
	}
	return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
}

// attributes returns up to limit attributes with distinct keys out of keys.
func (w *World) attributes(keys []string, limit int) []*commonpb.KeyValue {
	var set []*commonpb.KeyValue
	for i, at := range w.rnd.Perm(len(keys)) {
		if i >= limit || w.chance(30) {
			break
		}
		kv := text(keys[at], pick(w, "a", "b", "GET", "/cart/{id}", "ü;=,\"", "x y"))
		switch w.rnd.IntN(12) {
		case 0:
			kv.Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: pick(w, int64(200), -1, math.MaxInt64)}}
		case 1:
			kv.Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: w.chance(50)}}
		case 2:
			kv.Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: pick(w, 0.5, 1e21, -3, 1e-7, 100)}}
		case 3:
			kv.Value = array("one", "two")
		}
		set = append(set, kv)
	}
	return set
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func array(values ...string) *commonpb.AnyValue {
	list := new(commonpb.ArrayValue)
	for _, v := range values {
		list.Values = append(list.Values, text("", v).Value)
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
}
