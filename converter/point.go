package converter

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// shape is what decides which series a point becomes, beyond its attributes.
type shape struct {
	layout []byte // raw bounds or quantiles
	hasSum bool
	any    bool // take a known point as it is: the shape says nothing
	series int  // how many series it may have, at most
	// list adds the series of a point to c.labels, which has its merged labels.
	list func(c *converter, layout otlp.Fixed64s, hasSum bool)
}

// findPoint returns the series of a point, made on first sight or when its
// shape changed. The returned point is valid until the next call.
func (c *converter) findPoint(t *task, p *otlp.Point, s *shape) (*point, *otlp.Error) {
	c.hold(t.sender.Target)
	index := &t.metric.points
	e := index.Get(p.Attributes, t.last)
	if e != nil {
		c.hits++
	} else {
		c.misses++
		c.canonical = c.canonical[:0]
		if err := c.canonicalizeRun(p.Attributes); err != nil {
			return nil, err
		}
		if c.crowdedAttributes {
			pt := &point{}
			pt.refuse(ReasonLimit, crowdedText)
			return pt, nil
		}
		d := series.DigestOf(c.canonical)
		if e = index.Find(p.Attributes, d, t.room()); e == nil {
			return c.newPoint(t, p, s, d), nil
		}
		index.Follow(t.last, e)
	}
	return c.known(t, e, p, s)
}

// known returns the series of a point that is known, in its present shape.
func (c *converter) known(t *task, e *series.Entry[point], p *otlp.Point, s *shape) (*point, *otlp.Error) {
	t.last = e
	if e.Used != c.epoch {
		e.Used = c.epoch
	}
	if !s.any && (e.Value.hasSum != s.hasSum || e.Value.layout != string(s.layout)) {
		return c.reshape(t, p, s, e)
	}
	return &e.Value, nil
}

// newPoint makes the series of a point and keeps them if there is room.
func (c *converter) newPoint(t *task, p *otlp.Point, s *shape, d series.Digest) *point {
	pt, kept := c.makePoint(t, s)
	if !kept {
		return &pt
	}
	e, kept := t.metric.points.Add(p.Attributes, d, pt, pt.size(), t.room())
	if !kept {
		c.unkeep(t.sender.State, &e.Value)
		return &e.Value
	}
	e.Used = c.epoch
	t.metric.points.Follow(t.last, e)
	t.last = e
	return &e.Value
}

// reshape replaces the series of a known point: its bounds changed, or its sum
// came or went. Series that stay keep their records.
func (c *converter) reshape(t *task, p *otlp.Point, s *shape, e *series.Entry[point]) (*point, *otlp.Error) {
	if err := c.canonicalizeRun(p.Attributes); err != nil {
		return nil, err
	}
	pt, kept := c.makePoint(t, s)
	if !kept {
		return &pt, nil
	}
	old := e.Value
	t.metric.points.Resize(e, pt.size()-old.size(), t.room())
	e.Value = pt
	c.forget(t.sender.State, old.held())
	return &e.Value, nil
}

// makePoint builds labels of the attributes in c.sorting and finds their records. Kept says that all records
// are held for the point; otherwise they serve this request alone.
func (c *converter) makePoint(t *task, s *shape) (pt point, kept bool) {
	pt = point{layout: t.metric.layout(s.layout), hasSum: s.hasSum}
	if !c.baseLabels(t) {
		pt.reject = ReasonLabel
		return pt, true
	}
	if detail := c.over(s.series); detail != "" {
		pt.refuse(ReasonLimit, detail)
		return pt, true
	}
	if detail := c.exhausted(s.series); detail != "" {
		pt.refuse(ReasonLimit, detail)
		return pt, false
	}
	s.list(c, s.layout, s.hasSum)
	sets := c.relabel(c.labels.buildAll(t.metric.name))
	if c.twice(t, sets) {
		pt.refuse(ReasonConflict, "two of the point's own series are one")
		return pt, true
	}
	if detail := c.crowded(t.sender.State, sets); detail != "" {
		pt.refuse(ReasonLimit, detail)
		return pt, false // There may be room the next time.
	}
	return pt, c.findSeries(t, &pt, sets)
}

// relabel runs metric_relabel_configs on the series of a point: once per
// series, never per sample. What is dropped is left empty.
func (c *converter) relabel(sets []labels.Labels) []labels.Labels {
	if len(c.opts.Relabel) == 0 {
		return sets
	}
	for i, ls := range sets {
		sets[i] = c.relabeled(ls)
	}
	return sets
}

// relabeled returns labels after metric_relabel_configs, empty for a series
// that they drop.
func (c *converter) relabeled(ls labels.Labels) labels.Labels {
	if len(c.opts.Relabel) == 0 {
		return ls
	}
	c.relabeler.Reset(ls)
	keep := relabel.ProcessBuilder(&c.relabeler, c.opts.Relabel...)
	ls = c.relabeler.Labels()
	if !keep || ls.Get(model.MetricNameLabel) == "" {
		return labels.EmptyLabels()
	}
	return ls
}

// baseLabels collects the labels that all series of a point share. It reports
// false when an attribute cannot be a label.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Metric Attributes",
// "Instrumentation Scope" and "Resource Attributes".
func (c *converter) baseLabels(t *task) bool {
	lb := &c.labels
	lb.begin()
	if !lb.addAll(c.sorting) {
		return false
	}
	switch {
	case t.metric.typ == otlp.TypeHistogram && !t.metric.native:
		lb.protect(model.BucketLabel)
	case t.metric.typ == otlp.TypeSummary:
		lb.protect(model.QuantileLabel)
	}
	s := t.sender.State
	c.setIdentity(s)
	for _, a := range s.promoted {
		if !lb.has(a.name) { // What the point says itself wins.
			lb.list = append(lb.list, a)
		}
	}
	lb.list = append(lb.list, t.scope.labels...)
	if c.opts.Labels.TypeAndUnit {
		if m := t.metric.meta; m.Type != model.MetricTypeUnknown {
			lb.set(model.MetricTypeLabel, string(m.Type))
		}
		if u := t.metric.meta.Unit; u != "" {
			lb.set(model.MetricUnitLabel, u)
		}
	}
	lb.merge()
	return true
}
