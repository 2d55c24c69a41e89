package convertertest

import (
	"math"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// noRecordedValue is the flag of points that say that there is no value.
const noRecordedValue = uint32(metricspb.DataPointFlags_DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK)

// export returns new points of some of a service's streams.
func (w *World) export(s *service) *metricspb.ResourceMetrics {
	out := &metricspb.ResourceMetrics{Resource: s.resource, SchemaUrl: s.schemaURL}
	for _, sc := range s.scopes {
		scoped := &metricspb.ScopeMetrics{Scope: sc.scope, SchemaUrl: sc.schemaURL}
		for _, st := range sc.metrics {
			if w.chance(80) {
				scoped.Metrics = append(scoped.Metrics, w.points(st))
			}
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scoped)
	}
	return out
}

// points returns a metric with one point for most of its attribute sets.
func (w *World) points(s *stream) *metricspb.Metric {
	m := proto.Clone(s.template).(*metricspb.Metric)
	for i, set := range s.sets {
		if w.chance(10) {
			continue
		}
		if w.chance(20) {
			// Some SDKs keep attributes in hash maps and send another order each time.
			set = append([]*commonpb.KeyValue(nil), set...)
			w.rnd.Shuffle(len(set), func(a, b int) { set[a], set[b] = set[b], set[a] })
		}
		switch d := m.Data.(type) {
		case *metricspb.Metric_Gauge:
			p := w.number(set)
			p.StartTimeUnixNano = 0
			d.Gauge.DataPoints = append(d.Gauge.DataPoints, spoil(w, p, &p.TimeUnixNano)...)
		case *metricspb.Metric_Sum:
			p := w.number(set)
			d.Sum.DataPoints = append(d.Sum.DataPoints, spoil(w, p, &p.TimeUnixNano)...)
		case *metricspb.Metric_Histogram:
			p := w.histogram(s, i, set)
			d.Histogram.DataPoints = append(d.Histogram.DataPoints, spoil(w, p, &p.TimeUnixNano)...)
		case *metricspb.Metric_ExponentialHistogram:
			p := w.exponential(s, i, set)
			d.ExponentialHistogram.DataPoints = append(d.ExponentialHistogram.DataPoints, spoil(w, p, &p.TimeUnixNano)...)
		case *metricspb.Metric_Summary:
			p := w.summary(s, set)
			d.Summary.DataPoints = append(d.Summary.DataPoints, spoil(w, p, &p.TimeUnixNano)...)
		}
	}
	return m
}

// spoil returns a point, sometimes without its time, twice, or with another one
// behind it that is earlier but later than the request before. At is the point's
// own time.
func spoil[P proto.Message](w *World, p P, at *uint64) []P {
	switch w.rnd.IntN(150) {
	case 0:
		*at = 0
	case 1:
		return []P{p, proto.Clone(p).(P)}
	case 2:
		if w.ms-w.beforeMs < 2 {
			break
		}
		late := proto.Clone(p).(P)
		fields := late.ProtoReflect()
		fd := fields.Descriptor().Fields()
		ms := w.ms - 1 - uint64(w.rnd.IntN(int(w.ms-w.beforeMs-1)))
		fields.Set(fd.ByName("time_unix_nano"), protoreflect.ValueOfUint64(ms*1e6))
		fields.Clear(fd.ByName("start_time_unix_nano"))
		return []P{p, late}
	}
	return []P{p}
}

// times returns the start and the time of a point in ns.
func (w *World) times() (start, at uint64) {
	at = w.ms * 1e6
	if w.chance(5) {
		// Below the millisecond; the sample's time is cut, not rounded.
		at += 999_999
	}
	switch {
	case w.chance(10):
		return 0, at
	case w.chance(3):
		return at, at
	}
	return w.startMs * 1e6, at
}

func (w *World) flags() uint32 {
	if w.chance(3) {
		return noRecordedValue
	}
	return 0
}

func (w *World) value() float64 {
	switch w.rnd.IntN(12) {
	case 0:
		return pick(w, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64)
	case 1:
		return float64(w.rnd.IntN(1000))
	}
	return w.rnd.NormFloat64() * 100
}

func (w *World) number(set []*commonpb.KeyValue) *metricspb.NumberDataPoint {
	start, at := w.times()
	p := &metricspb.NumberDataPoint{
		Attributes: set, StartTimeUnixNano: start, TimeUnixNano: at, Flags: w.flags(), Exemplars: w.exemplars(nil),
	}
	if w.chance(1) {
		return p // It has no value.
	}
	if w.chance(50) {
		p.Value = &metricspb.NumberDataPoint_AsInt{AsInt: pick(w, 0, 1, int64(w.rnd.IntN(1e6)), -5, math.MaxInt64)}
	} else {
		p.Value = &metricspb.NumberDataPoint_AsDouble{AsDouble: w.value()}
	}
	return p
}

func (w *World) histogram(s *stream, i int, set []*commonpb.KeyValue) *metricspb.HistogramDataPoint {
	start, at := w.times()
	p := &metricspb.HistogramDataPoint{
		Attributes: set, StartTimeUnixNano: start, TimeUnixNano: at, Flags: w.flags(), ExplicitBounds: s.bounds,
		Exemplars: w.exemplars(s.bounds),
	}
	if len(s.bounds) > 0 {
		for range len(s.bounds) + 1 {
			n := uint64(w.rnd.IntN(3)) * uint64(w.rnd.IntN(100))
			p.BucketCounts = append(p.BucketCounts, n)
			p.Count += n
		}
		if math.IsInf(s.bounds[len(s.bounds)-1], 1) {
			// Nothing is above +Inf.
			p.Count -= p.BucketCounts[len(s.bounds)]
			p.BucketCounts[len(s.bounds)] = 0
		}
		if w.chance(1) {
			p.Count++ // It contradicts the buckets.
		}
	} else {
		s.counts[i] += uint64(w.rnd.IntN(5))
		p.Count = s.counts[i]
	}
	if s.hasSum {
		p.Sum = proto.Float64(w.value())
		p.Min, p.Max = proto.Float64(-1), proto.Float64(1)
	}
	return p
}

func (w *World) exponential(s *stream, i int, set []*commonpb.KeyValue) *metricspb.ExponentialHistogramDataPoint {
	start, at := w.times()
	s.counts[i]++
	p := &metricspb.ExponentialHistogramDataPoint{
		Attributes: set, StartTimeUnixNano: start, TimeUnixNano: at, Flags: w.flags(), Scale: s.scale,
		ZeroCount: uint64(w.rnd.IntN(3)), Positive: w.buckets(), Exemplars: w.exemplars(nil), Sum: proto.Float64(w.value()),
		ZeroThreshold: s.threshold,
	}
	if w.chance(30) {
		p.Negative = w.buckets()
	}
	p.Count = p.ZeroCount
	for _, n := range append(p.GetPositive().GetBucketCounts(), p.GetNegative().GetBucketCounts()...) {
		p.Count += n
	}
	if w.chance(10) {
		p.Sum = nil
	}
	if w.chance(1) {
		p.Count++ // It contradicts the buckets.
	}
	return p
}

func (w *World) buckets() *metricspb.ExponentialHistogramDataPoint_Buckets {
	b := &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: int32(w.rnd.IntN(2000) - 1000)}
	for range w.rnd.IntN(40) {
		n := uint64(0)
		if w.chance(40) {
			n = uint64(w.rnd.IntN(50))
		}
		b.BucketCounts = append(b.BucketCounts, n)
	}
	return b
}

func (w *World) summary(s *stream, set []*commonpb.KeyValue) *metricspb.SummaryDataPoint {
	start, at := w.times()
	p := &metricspb.SummaryDataPoint{
		Attributes: set, StartTimeUnixNano: start, TimeUnixNano: at, Flags: w.flags(), Count: uint64(w.rnd.IntN(100)),
		// Not -0, which protobuf drops from fields without presence.
		Sum: w.value() + 0,
	}
	for _, q := range s.bounds {
		p.QuantileValues = append(p.QuantileValues, &metricspb.SummaryDataPoint_ValueAtQuantile{Quantile: q, Value: math.Abs(w.value())})
	}
	return p
}

// exemplars returns up to three exemplars, with values on and between bounds.
func (w *World) exemplars(bounds []float64) []*metricspb.Exemplar {
	if !w.chance(20) {
		return nil
	}
	var out []*metricspb.Exemplar
	for range 1 + w.rnd.IntN(3) {
		e := &metricspb.Exemplar{
			TimeUnixNano:       (w.ms - uint64(w.rnd.IntN(1000))) * 1e6,
			FilteredAttributes: w.attributes([]string{"user_id", "http.route", "trace_id", "long"}, 2),
			Value:              &metricspb.Exemplar_AsDouble{AsDouble: w.rnd.NormFloat64() * 10},
		}
		switch {
		case len(bounds) > 0 && w.chance(40):
			e.Value = &metricspb.Exemplar_AsDouble{AsDouble: pick(w, bounds...)}
		case w.chance(20):
			e.Value = &metricspb.Exemplar_AsInt{AsInt: int64(w.rnd.IntN(10))}
		}
		if w.chance(70) {
			e.TraceId, e.SpanId = make([]byte, 16), make([]byte, 8)
			for i := range e.TraceId {
				e.TraceId[i] = byte(w.rnd.Uint32())
			}
			e.SpanId[7] = 1
		}
		if w.chance(10) {
			e.TimeUnixNano = 0
		}
		out = append(out, e)
	}
	return out
}
