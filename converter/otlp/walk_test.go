package otlp

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// walker reads a whole request through the views, as the converter does, and
// goes to the bottom of everything.
type walker struct {
	resource, scope, point Scratch

	number      Number
	histogram   Histogram
	exponential ExponentialHistogram
	summary     Summary
	counts      []uint64

	steps  int // children of all kinds that were visited
	points int
	sum    uint64 // of all that was read, so that it is read
	// out, if not nil, gets one line for each message.
	out *strings.Builder
}

func (w *walker) linef(format string, args ...any) {
	if w.out != nil {
		fmt.Fprintf(w.out, format+"\n", args...)
	}
}

func (w *walker) request(b []byte) *Error {
	l, err := Request(b)
	for err == nil {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		w.steps++
		err = w.resourceMetrics(b)
	}
	return err
}

func (w *walker) resourceMetrics(b []byte) *Error {
	rm, err := ParseResourceMetrics(b, &w.resource)
	if err != nil {
		return err
	}
	attributes, err := ParseResource(rm.Resource)
	if err != nil {
		return err
	}
	if w.out != nil {
		w.linef("resource %s", listText(attributes))
	}
	if err := w.attributes(attributes); err != nil {
		return err
	}
	for {
		b, ok := rm.Scopes.Next()
		if !ok {
			return nil
		}
		w.steps++
		if err := w.scopeMetrics(b); err != nil {
			return err
		}
	}
}

func (w *walker) scopeMetrics(b []byte) *Error {
	sm, err := ParseScopeMetrics(b, &w.scope)
	if err != nil {
		return err
	}
	sc, err := ParseScope(sm.Scope)
	if err != nil {
		return err
	}
	if w.out != nil {
		w.linef("scope %q %q %q %s", sm.SchemaURL, sc.Name, sc.Version, listText(sc.Attributes))
	}
	if err := w.attributes(sc.Attributes); err != nil {
		return err
	}
	for {
		b, ok := sm.Metrics.Next()
		if !ok {
			return nil
		}
		w.steps++
		if err := w.metric(b); err != nil {
			return err
		}
	}
}

func (w *walker) metric(b []byte) *Error {
	var m Metric
	if err := ParseMetric(b, &m); err != nil {
		return err
	}
	if w.out != nil {
		w.linef("metric %q %q %q %d %d %t %s", m.Name, m.Description, m.Unit, m.Type, m.Temporality, m.Monotonic, listText(m.Metadata))
	}
	if err := w.attributes(m.Metadata); err != nil {
		return err
	}
	for {
		b, ok := m.Points.Next()
		if !ok {
			return nil
		}
		w.steps++
		w.points++
		var err *Error
		switch m.Type {
		case TypeGauge, TypeSum:
			err = w.numberPoint(b)
		case TypeHistogram:
			err = w.histogramPoint(b)
		case TypeExponentialHistogram:
			err = w.exponentialPoint(b)
		case TypeSummary:
			err = w.summaryPoint(b)
		}
		if err != nil {
			return err
		}
	}
}

// common reads what all points have.
func (w *walker) common(p *Point) *Error {
	if w.out != nil {
		w.linef("point %d %d %d %s", p.StartNs, p.TimeNs, p.Flags, runText(p.Attributes))
	}
	if err := CheckAttributes(p.Attributes); err != nil {
		return err
	}
	for a := EachOf(p.Attributes); ; {
		key, v, ok, err := a.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		w.steps++
		w.sum += uint64(len(key))
		w.value(v)
	}
	for l := p.Exemplars; ; {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		w.steps++
		e, err := ParseExemplar(b)
		if err != nil {
			return err
		}
		if w.out != nil {
			w.linef("exemplar %d %d %x %s %s %s", e.TimeNs, e.Kind, e.Bits, idText(e.TraceID, 16), idText(e.SpanID, 8), listText(e.Attributes))
		}
		if err := w.attributes(e.Attributes); err != nil {
			return err
		}
	}
}

func (w *walker) numberPoint(b []byte) *Error {
	p := &w.number
	if err := ParseNumber(b, p, &w.point); err != nil {
		return err
	}
	w.linef2("number", uint64(p.Kind), p.Bits)
	return w.common(&p.Point)
}

func (w *walker) histogramPoint(b []byte) *Error {
	p := &w.histogram
	if err := ParseHistogram(b, p, &w.point); err != nil {
		return err
	}
	for i := range p.Counts.Len() {
		w.sum += p.Counts.At(i)
	}
	for i := range p.Bounds.Len() {
		w.sum += math.Float64bits(p.Bounds.Float(i))
	}
	w.steps += p.Counts.Len() + p.Bounds.Len()
	if w.out != nil {
		w.linef("histogram %d %t %x counts %x bounds %x", p.Count, p.HasSum, math.Float64bits(p.Sum), fixed(p.Counts), fixed(p.Bounds))
	}
	return w.common(&p.Point)
}

func (w *walker) exponentialPoint(b []byte) *Error {
	p := &w.exponential
	if err := ParseExponentialHistogram(b, p, &w.point); err != nil {
		return err
	}
	w.counts = p.Positive.AppendCounts(w.counts[:0])
	positive := len(w.counts)
	w.counts = p.Negative.AppendCounts(w.counts)
	w.steps += len(w.counts)
	if w.out != nil {
		w.linef("exponential %d %t %x scale %d zero %d %x positive %d %x negative %d %x", p.Count, p.HasSum, math.Float64bits(p.Sum),
			p.Scale, p.ZeroCount, math.Float64bits(p.ZeroThreshold), p.Positive.Offset, w.counts[:positive], p.Negative.Offset, w.counts[positive:])
	}
	return w.common(&p.Point)
}

func (w *walker) summaryPoint(b []byte) *Error {
	p := &w.summary
	if err := ParseSummary(b, p, &w.point); err != nil {
		return err
	}
	w.linef2("summary", p.Count, math.Float64bits(p.Sum))
	for l := p.Quantiles; ; {
		b, ok := l.Next()
		if !ok {
			break
		}
		w.steps++
		q, v, err := ParseQuantile(b)
		if err != nil {
			return err
		}
		w.linef2("quantile", math.Float64bits(q), math.Float64bits(v))
	}
	return w.common(&p.Point)
}

// linef2 boxes its numbers only when somebody wants the line.
func (w *walker) linef2(word string, a, b uint64) {
	w.sum += a + b
	if w.out != nil {
		w.linef("%s %x %x", word, a, b)
	}
}

func (w *walker) attributes(l List) *Error {
	for {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		w.steps++
		key, v, err := ParseKeyValue(b)
		if err != nil {
			return err
		}
		w.sum += uint64(len(key))
		w.value(v)
	}
}

func (w *walker) value(v Value) {
	w.sum += uint64(v.Kind) + uint64(len(v.Bytes)) + uint64(v.Int())
	if v.Kind != ArrayKind && v.Kind != MapKind {
		return
	}
	for c := v.Children(); ; {
		_, v, ok := c.Next()
		if !ok {
			return
		}
		w.steps++
		w.value(v)
	}
}

func fixed(p Fixed64s) []uint64 {
	out := make([]uint64, p.Len())
	for i := range out {
		out[i] = p.At(i)
	}
	return out
}

func idText(b []byte, n int) string {
	return hex.EncodeToString(append(b[:len(b):len(b)], make([]byte, n-len(b))...))
}

func listText(l List) string {
	var out strings.Builder
	for {
		b, ok := l.Next()
		if !ok {
			return out.String()
		}
		key, v, err := ParseKeyValue(b)
		if err != nil {
			return out.String() + err.Error()
		}
		fmt.Fprintf(&out, "%q=", key)
		valueText(&out, v)
	}
}

func runText(run []byte) string {
	var out strings.Builder
	for a := EachOf(run); ; {
		key, v, ok, err := a.Next()
		if err != nil {
			return out.String() + err.Error()
		}
		if !ok {
			return out.String()
		}
		fmt.Fprintf(&out, "%q=", key)
		valueText(&out, v)
	}
}

func valueText(out *strings.Builder, v Value) {
	switch v.Kind {
	case EmptyKind:
		out.WriteString("none ")
	case StringKind:
		fmt.Fprintf(out, "string %q ", v.Bytes)
	case BoolKind:
		fmt.Fprintf(out, "bool %t ", v.Bool())
	case IntKind:
		fmt.Fprintf(out, "int %d ", v.Int())
	case DoubleKind:
		fmt.Fprintf(out, "double %x ", math.Float64bits(v.Double()))
	case BytesKind:
		fmt.Fprintf(out, "bytes %x ", v.Bytes)
	case ArrayKind, MapKind:
		out.WriteString(map[Kind]string{ArrayKind: "array(", MapKind: "map("}[v.Kind])
		for c := v.Children(); ; {
			key, m, ok := c.Next()
			if !ok {
				break
			}
			if v.Kind == MapKind {
				fmt.Fprintf(out, "%q=", key)
			}
			valueText(out, m)
		}
		out.WriteString(") ")
	}
}

// views returns what the views say of a request.
func views(body []byte) (string, *walker, *Error) {
	w := &walker{out: new(strings.Builder)}
	err := w.request(body)
	return w.out.String(), w, err
}

// messages returns what pdata's messages say, in the words of [views].
func messages(md pmetric.Metrics) string {
	w := &walker{out: new(strings.Builder)}
	for _, rm := range md.ResourceMetrics().All() {
		w.linef("resource %s", mapText(rm.Resource().Attributes()))
		for _, sm := range rm.ScopeMetrics().All() {
			w.linef("scope %q %q %q %s", sm.SchemaUrl(), sm.Scope().Name(), sm.Scope().Version(), mapText(sm.Scope().Attributes()))
			for _, m := range sm.Metrics().All() {
				w.message(m)
			}
		}
	}
	return w.out.String()
}

func (w *walker) message(m pmetric.Metric) {
	header := func(typ Type, temporality pmetric.AggregationTemporality, monotonic bool) {
		if temporality != 1 && temporality != 2 {
			temporality = 0
		}
		w.linef("metric %q %q %q %d %d %t %s", m.Name(), m.Description(), m.Unit(), typ, temporality, monotonic, mapText(m.Metadata()))
	}
	numbers := func(points pmetric.NumberDataPointSlice) {
		for _, p := range points.All() {
			bits := uint64(0)
			kind := map[pmetric.NumberDataPointValueType]ValueKind{
				pmetric.NumberDataPointValueTypeInt: IntValue, pmetric.NumberDataPointValueTypeDouble: DoubleValue,
			}[p.ValueType()]
			switch kind {
			case IntValue:
				bits = uint64(p.IntValue())
			case DoubleValue:
				bits = math.Float64bits(p.DoubleValue())
			}
			w.linef("number %x %x", kind, bits)
			w.messagePoint(p, p.Exemplars())
		}
	}
	switch m.Type() {
	case pmetric.MetricTypeEmpty:
		header(TypeNone, 0, false)
	case pmetric.MetricTypeGauge:
		header(TypeGauge, 0, false)
		numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		header(TypeSum, m.Sum().AggregationTemporality(), m.Sum().IsMonotonic())
		numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		header(TypeHistogram, m.Histogram().AggregationTemporality(), false)
		for _, p := range m.Histogram().DataPoints().All() {
			var bounds []uint64
			for _, b := range p.ExplicitBounds().All() {
				bounds = append(bounds, math.Float64bits(b))
			}
			w.linef("histogram %d %t %x counts %x bounds %x", p.Count(), p.HasSum(), math.Float64bits(p.Sum()), p.BucketCounts().AsRaw(), bounds)
			w.messagePoint(p, p.Exemplars())
		}
	case pmetric.MetricTypeExponentialHistogram:
		header(TypeExponentialHistogram, m.ExponentialHistogram().AggregationTemporality(), false)
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			w.linef("exponential %d %t %x scale %d zero %d %x positive %d %x negative %d %x", p.Count(), p.HasSum(), math.Float64bits(p.Sum()),
				p.Scale(), p.ZeroCount(), math.Float64bits(p.ZeroThreshold()), p.Positive().Offset(), p.Positive().BucketCounts().AsRaw(),
				p.Negative().Offset(), p.Negative().BucketCounts().AsRaw())
			w.messagePoint(p, p.Exemplars())
		}
	case pmetric.MetricTypeSummary:
		header(TypeSummary, 0, false)
		for _, p := range m.Summary().DataPoints().All() {
			w.linef("summary %x %x", p.Count(), math.Float64bits(p.Sum()))
			for _, q := range p.QuantileValues().All() {
				w.linef("quantile %x %x", math.Float64bits(q.Quantile()), math.Float64bits(q.Value()))
			}
			w.messagePoint(p, pmetric.NewExemplarSlice())
		}
	}
}

func (w *walker) messagePoint(p interface {
	StartTimestamp() pcommon.Timestamp
	Timestamp() pcommon.Timestamp
	Flags() pmetric.DataPointFlags
	Attributes() pcommon.Map
}, exemplars pmetric.ExemplarSlice,
) {
	w.linef("point %d %d %d %s", p.StartTimestamp(), p.Timestamp(), p.Flags(), mapText(p.Attributes()))
	for _, e := range exemplars.All() {
		kind, bits := NoValue, uint64(0)
		switch e.ValueType() {
		case pmetric.ExemplarValueTypeInt:
			kind, bits = IntValue, uint64(e.IntValue())
		case pmetric.ExemplarValueTypeDouble:
			kind, bits = DoubleValue, math.Float64bits(e.DoubleValue())
		}
		trace, span := e.TraceID(), e.SpanID()
		w.linef("exemplar %d %d %x %s %s %s", e.Timestamp(), kind, bits, idText(trace[:], 16), idText(span[:], 8), mapText(e.FilteredAttributes()))
	}
}

func mapText(m pcommon.Map) string {
	var out strings.Builder
	for key, v := range m.All() {
		fmt.Fprintf(&out, "%q=", key)
		pdataText(&out, v)
	}
	return out.String()
}

func pdataText(out *strings.Builder, v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		out.WriteString("none ")
	case pcommon.ValueTypeStr:
		fmt.Fprintf(out, "string %q ", v.Str())
	case pcommon.ValueTypeBool:
		fmt.Fprintf(out, "bool %t ", v.Bool())
	case pcommon.ValueTypeInt:
		fmt.Fprintf(out, "int %d ", v.Int())
	case pcommon.ValueTypeDouble:
		fmt.Fprintf(out, "double %x ", math.Float64bits(v.Double()))
	case pcommon.ValueTypeBytes:
		fmt.Fprintf(out, "bytes %x ", v.Bytes().AsRaw())
	case pcommon.ValueTypeSlice:
		out.WriteString("array(")
		for _, m := range v.Slice().All() {
			pdataText(out, m)
		}
		out.WriteString(") ")
	case pcommon.ValueTypeMap:
		out.WriteString("map(")
		for key, m := range v.Map().All() {
			fmt.Fprintf(out, "%q=", key)
			pdataText(out, m)
		}
		out.WriteString(") ")
	}
}
