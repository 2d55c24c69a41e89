package converter

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// histogramPoint stages a point of an explicit-bucket histogram: classic
// series, or one native histogram with custom buckets.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Histograms".
func (c *converter) histogramPoint(t *task, b []byte) (Reason, *otlp.Error) {
	p := &c.histogram
	if err := otlp.ParseHistogram(b, p, &c.pointScratch); err != nil {
		return accepted, err
	}
	st, ms, reason := c.admit(t.metric, &p.Point)
	stale := p.Flags&otlp.NoRecordedValue != 0
	if reason == accepted && !stale {
		reason = checkBuckets(p)
	}
	if reason == accepted && !stale && t.metric.native && !p.HasSum {
		reason = ReasonNoSum
	}
	if reason != accepted {
		return c.refuse(&p.Point, reason)
	}
	if t.metric.native {
		return c.customPoint(t, p, st, ms, stale)
	}
	pt, err := c.findPoint(t, &p.Point, shape{
		layout: p.Bounds, hasSum: p.HasSum, any: stale, list: classicSeries,
	})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		return pt.reject, checkExemplars(p.Exemplars)
	}
	if stale {
		return c.stageStale(t, pt, &p.Point, ms)
	}
	c.values = append(c.values[:0], float64(p.Count))
	if p.HasSum {
		c.values = append(c.values, notStale(p.Sum))
	}
	first := len(c.values)
	total := uint64(0)
	for i := range finite(p.Bounds) {
		total += p.Counts.At(i)
		c.values = append(c.values, float64(total))
	}
	c.values = append(c.values, float64(p.Count))
	return c.stageAll(t, pt, &p.Point, st, ms, first, p.Bounds)
}

// checkBuckets finds contradictions in a point (metrics.proto,
// HistogramDataPoint).
func checkBuckets(p *otlp.Histogram) Reason {
	n := p.Bounds.Len()
	if p.Counts.Len() == 0 && n == 0 {
		return accepted
	}
	if p.Counts.Len() != n+1 {
		return ReasonBuckets
	}
	total, carry := uint64(0), uint64(0)
	for i := range p.Counts.Len() {
		var c uint64
		total, c = bits.Add64(total, p.Counts.At(i), 0)
		carry |= c
	}
	if total != p.Count || carry != 0 {
		return ReasonBuckets
	}
	for i := range n {
		if b := p.Bounds.Float(i); b != b || i > 0 && b <= p.Bounds.Float(i-1) {
			return ReasonBuckets
		}
	}
	return accepted
}

// finite returns how many bounds there are without an infinite last one, of
// which the bucket is the overflow bucket that every histogram has.
func finite(bounds otlp.Fixed64s) int {
	n := bounds.Len()
	if n > 0 && math.IsInf(bounds.Float(n-1), 1) {
		n--
	}
	return n
}

// classicSeries lists _count, _sum if there is one, and the buckets.
func classicSeries(c *converter, t *task, s shape) []labels.Labels {
	name, bounds := t.metric.name, otlp.Fixed64s(s.layout)
	n := finite(bounds)
	out := make([]labels.Labels, 0, n+3)
	out = append(out, c.labels.build(name+"_count", "", ""))
	if s.hasSum {
		out = append(out, c.labels.build(name+"_sum", "", ""))
	}
	for i := range n {
		out = append(out, c.labels.build(name+"_bucket", model.BucketLabel, c.opts.number(bounds.Float(i))))
	}
	return append(out, c.labels.build(name+"_bucket", model.BucketLabel, "+Inf"))
}

// number prints a bound or a quantile: in the shortest form, or as OpenMetrics
// does, which gives whole numbers a fraction.
func (o *settings) number(v float64) string {
	if math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if !o.OpenMetricsLE {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if strings.ContainsAny(s, "e.") {
		return s
	}
	return s + ".0"
}

// stageAll judges all series of a point before it stages the first: a point is
// accepted or rejected once. The values in c.values are in the order of the
// point's records. From the series at first on, exemplars go to the bucket that
// their value falls into.
func (c *converter) stageAll(t *task, pt *point, p *otlp.Point, st, ms int64, first int, bounds otlp.Fixed64s) (Reason, *otlp.Error) {
	c.verdicts = c.verdicts[:0]
	fresh, repeated := 0, 0
	for i, r := range pt.records {
		v := c.judge(r, ms, math.Float64bits(c.values[i]))
		c.verdicts = append(c.verdicts, v)
		switch v {
		case series.Conflict:
			return ReasonConflict, checkExemplars(p.Exemplars)
		case series.Fresh:
			fresh++
		case series.Repeated:
			repeated++
		}
	}
	if fresh == 0 || !t.metric.exemplars(p) || t.metric.typ == otlp.TypeSummary {
		if err := checkExemplars(p.Exemplars); err != nil {
			return accepted, err
		}
	} else if p.Exemplars.Len() > 0 {
		if err := c.placeExemplars(p.Exemplars, bounds, ms); err != nil {
			return accepted, err
		}
	}
	for i, r := range pt.records {
		s := sample{record: r, family: &t.metric.family, st: st, ms: ms, v: c.values[i], bits: math.Float64bits(c.values[i])}
		if i >= first && len(c.placed) > 0 {
			s.exFrom, s.exTo = c.takeExemplars(i - first)
		}
		if c.verdicts[i] == series.Fresh {
			c.stage(s, c.report.points)
		}
	}
	c.placed, c.taken = c.placed[:0], 0
	if fresh == 0 && repeated > 0 {
		c.repeated++
	}
	t.newest = max(t.newest, ms)
	return accepted, nil
}

// stageStale ends every series of a point.
func (c *converter) stageStale(t *task, pt *point, p *otlp.Point, ms int64) (Reason, *otlp.Error) {
	c.values = c.values[:0]
	for range pt.records {
		c.values = append(c.values, staleNaN)
	}
	return c.stageAll(t, pt, p, 0, ms, len(pt.records), nil)
}
