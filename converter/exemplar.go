package converter

import (
	"cmp"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/exemplar"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// placed is an exemplar and the bucket that its value falls into.
type placed struct {
	bucket   int
	exemplar exemplar.Exemplar
}

// The labels of an exemplar's trace context.
const (
	traceIDLabel = "trace_id"
	spanIDLabel  = "span_id"
)

// pointExemplars reads the exemplars of a point into c.placed if they are
// wanted, and otherwise only finds torn frames in them.
func (c *converter) pointExemplars(t *task, p *otlp.Point, fresh bool, bounds otlp.Fixed64s, pointMs int64) *otlp.Error {
	c.placed, c.taken = c.placed[:0], 0
	if !fresh || !t.metric.exemplars(p) {
		return otlp.CheckExemplars(p.Exemplars)
	}
	return c.placeExemplars(p.Exemplars, bounds, pointMs)
}

// maxPlaced is the most exemplars of one point.
const maxPlaced = 16 << 10

// placeExemplars reads a point's exemplars into c.placed, sorted by bucket and
// time. Without bounds all are in bucket 0. A value equal to a bound belongs to
// that bucket.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Exemplars".
func (c *converter) placeExemplars(l otlp.List, bounds otlp.Fixed64s, pointMs int64) *otlp.Error {
	n := finite(bounds)
	for {
		b, ok := l.Next()
		if !ok {
			break
		}
		in, err := otlp.ParseExemplar(b)
		if err != nil {
			return err
		}
		e := exemplar.Exemplar{Value: numberOf(in.Kind, in.Bits), Ts: int64(in.TimeNs / 1e6), HasTs: true}
		if in.TimeNs == 0 {
			e.Ts = pointMs
		}
		if err := c.exemplarLabels(&in, &e); err != nil {
			return err
		}
		if in.Kind == otlp.NoValue {
			c.opts.warn(warnExemplar, "exemplar without a value")
			continue
		}
		if len(c.placed) >= maxPlaced {
			c.opts.warn(warnExemplar, "too many exemplars in one point")
			continue
		}
		bucket := sort.Search(n, func(i int) bool { return e.Value <= bounds.Float(i) })
		c.placed = append(c.placed, placed{bucket, e})
	}
	slices.SortStableFunc(c.placed, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.exemplar.Ts, b.exemplar.Ts))
	})
	return nil
}

// exemplarLabels gives an exemplar its labels: the trace context first, then
// the filtered attributes as long as all fit the 128 runes that OpenMetrics and
// Prometheus allow. An attribute that names the trace context yields to it.
func (c *converter) exemplarLabels(in *otlp.Exemplar, e *exemplar.Exemplar) *otlp.Error {
	lb := &c.labels
	lb.begin()
	for l := in.Attributes; ; {
		b, ok := l.Next()
		if !ok {
			break
		}
		key, v, err := otlp.ParseKeyValue(b)
		if err != nil {
			return err
		}
		if len(lb.list) < exemplar.ExemplarMaxLabelSetLength {
			lb.add("", key, v) // What cannot be a label is left out.
		}
	}
	runes := 0
	lb.out.Reset()
	add := func(name, value string) {
		n := utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
		if value == "" || runes+n > exemplar.ExemplarMaxLabelSetLength {
			return
		}
		runes += n
		lb.out.Add(name, value)
	}
	trace, span := id(in.TraceID), id(in.SpanID)
	add(traceIDLabel, trace)
	add(spanIDLabel, span)
	slices.SortStableFunc(lb.list, func(a, b attribute) int { return strings.Compare(a.name, b.name) })
	for i, a := range lb.list {
		switch {
		case a.name == traceIDLabel && trace != "", a.name == spanIDLabel && span != "":
		case i > 0 && a.name == lb.list[i-1].name:
			// Two keys that meet in one name: the first stays.
		default:
			add(a.name, a.value)
		}
	}
	lb.out.Sort()
	e.Labels = lb.out.Labels()
	return nil
}

// id returns a trace or span id in hex, or nothing for an empty one.
func id(b []byte) string {
	for _, c := range b {
		if c != 0 {
			return hex.EncodeToString(b)
		}
	}
	return ""
}
