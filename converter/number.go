package converter

import (
	"math"

	"github.com/prometheus/prometheus/model/value"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// numberPoint stages a point of a gauge or a sum: one series, named like the
// metric.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Gauges" and "Sums".
func (c *converter) numberPoint(t *task, b []byte) (Reason, *otlp.Error) {
	p := new(otlp.Number)
	if err := otlp.ParseNumber(b, p, &c.pointScratch); err != nil {
		return accepted, err
	}
	t.metric.frame.Learn(b, p.Attributes, false)
	st, ms, reason := c.admit(t.metric, &p.Point)
	stale := p.Flags&otlp.NoRecordedValue != 0
	if reason == accepted && p.Kind == otlp.NoValue && !stale {
		reason = ReasonNoValue
	}
	if reason != accepted {
		return c.refuse(&p.Point, reason)
	}
	pt, err := c.findPoint(t, &p.Point, &shape{series: 1, list: oneSeries})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		c.detail = pt.detail()
		return pt.reject, otlp.CheckExemplars(p.Exemplars)
	}
	v := numberOf(p.Kind, p.Bits)
	if stale {
		v = staleNaN
	}
	c.value(v)
	return c.stagePoint(t, pt, &p.Point, &reading{st: st, ms: ms, counts: t.metric.typ == otlp.TypeSum})
}

// oneSeries is the series list of points that become one series.
func oneSeries(c *converter, _ otlp.Fixed64s, _ bool) { c.labels.vary("", "", "") }

// exemplars reports whether the exemplars of a point are kept. Those of gauges
// are dropped, and a point without a value has none that mean anything.
func (m *metric) exemplars(p *otlp.Point) bool {
	return m.start && p.Flags&otlp.NoRecordedValue == 0
}

var staleNaN = math.Float64frombits(value.StaleNaN)

// numberOf returns a value as Prometheus holds it.
func numberOf(kind otlp.ValueKind, bits uint64) float64 {
	if kind == otlp.IntValue {
		return float64(int64(bits))
	}
	return notStale(math.Float64frombits(bits))
}

// notStale keeps a NaN of the sender's apart from the stale marker, which says
// that a series ended and must not be used otherwise (remote write).
func notStale(v float64) float64 {
	if value.IsStaleNaN(v) {
		return math.Float64frombits(value.NormalNaN)
	}
	return v
}
