package converter

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// numberPoint stages a point of a gauge or a sum: one series, named like the
// metric.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Gauges" and "Sums".
func (c *converter) numberPoint(t *task, b []byte) (Reason, *otlp.Error) {
	p := &c.number
	if err := otlp.ParseNumber(b, p, &c.pointScratch); err != nil {
		return accepted, err
	}
	st, ms, reason := c.admit(t.metric, &p.Point)
	stale := p.Flags&otlp.NoRecordedValue != 0
	if reason == accepted && p.Kind == otlp.NoValue && !stale {
		reason = ReasonNoValue
	}
	if reason != accepted {
		return c.refuse(&p.Point, reason)
	}
	pt, err := c.findPoint(t, &p.Point, shape{series: 1, list: oneSeries})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		c.detail = pt.detail
		return pt.reject, otlp.CheckExemplars(p.Exemplars)
	}
	v := numberOf(p.Kind, p.Bits)
	if stale {
		v = staleNaN
	}
	return c.stageOne(t, pt, &p.Point, st, ms, math.Float64bits(v), nil)
}

// oneSeries is the series list of points that become one series.
func oneSeries(c *converter, t *task, _ shape) []labels.Labels {
	return []labels.Labels{c.labels.build(t.metric.name, "", "")}
}

// stageOne judges and stages a point that is one sample: of a value, or of a
// native histogram and its hash.
func (c *converter) stageOne(t *task, pt *point, p *otlp.Point, st, ms int64, bits uint64, h *histogram.Histogram) (Reason, *otlp.Error) {
	r := pt.records[0]
	if r == nil {
		c.opts.metrics.dropped.Inc()
		return accepted, otlp.CheckExemplars(p.Exemplars)
	}
	verdict := c.judge(r, ms, bits)
	s := staged{records: pt.records, family: &t.metric.family, h: h, st: st, ms: ms, exemplars: -1, point: int32(c.report.points)}
	if p.Exemplars.Len() > 0 {
		if err := c.pointExemplars(t, p, verdict == series.Fresh, nil, ms); err != nil {
			return accepted, err
		}
		if len(c.placed) > 0 {
			s.exemplars = int32(len(c.ranges))
			c.takeExemplars(0)
		}
	}
	switch verdict {
	case series.Conflict:
		return c.conflicting(t, r), nil
	case series.Late:
		return c.late(r, ms), nil
	case series.Repeated:
		c.repeated++
	case series.Same:
		c.merged(t, r)
	case series.Fresh:
		v := math.Float64frombits(bits)
		c.writers(t, r, st, ms, v, h == nil && t.metric.typ == otlp.TypeSum)
		c.values = append(c.values, bits)
		c.stage(s)
	}
	t.newest = max(t.newest, ms)
	return accepted, nil
}

// conflicting counts a point whose series has another value at its time.
func (c *converter) conflicting(t *task, r *series.Record) Reason {
	c.conflict(conflictSeries, t.sender.State, r.Labels.String(), "", false)
	c.explain(ReasonConflict, "%s", excerpt(r.Labels.String()))
	return ReasonConflict
}

// merged warns of two streams that gave one series one value for one time.
// Nothing is lost, but the next values may differ.
func (c *converter) merged(t *task, r *series.Record) {
	if r.Shared() {
		c.conflict(conflictSeries, t.sender.State, r.Labels.String(), t.metric.name, true)
	}
}

// late refuses a point that limits.reject_late refuses.
func (c *converter) late(r *series.Record, ms int64) Reason {
	c.explain(ReasonOutOfOrder, "%d ms before the newest one acknowledged, and limits.reject_late is set", r.AckedMs()-ms)
	return ReasonOutOfOrder
}

// writers looks for a second process that writes the series, and notes the
// start of the sample that is about to be offered. The record's owner is held.
func (c *converter) writers(t *task, r *series.Record, st, ms int64, v float64, monotonic bool) {
	if st == 0 {
		return
	}
	c.hold(r.Owner)
	if r.Disturbed(st, ms, v, monotonic) {
		c.conflict(conflictWriters, t.sender.State, r.Labels.String(), t.metric.name, true)
	}
	r.Started(st)
}

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
