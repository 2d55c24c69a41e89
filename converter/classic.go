package converter

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/converter/otlp"
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
	if stale && checkBounds(p.Bounds) != accepted {
		p.Bounds = nil // Of a point without a value only attributes and times count.
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
		layout: p.Bounds, hasSum: p.HasSum, any: stale, series: p.Bounds.Len() + 3, list: classicSeries,
	})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		c.detail = pt.detail()
		return pt.reject, otlp.CheckExemplars(p.Exemplars)
	}
	if stale {
		return c.stageStale(t, pt, &p.Point, st, ms)
	}
	from := len(c.values)
	c.value(float64(p.Count))
	if p.HasSum {
		c.value(notStale(p.Sum))
	}
	buckets := len(c.values) - from
	total := uint64(0)
	for i := range finite(p.Bounds) {
		total += p.Counts.At(i)
		c.value(float64(total))
	}
	c.value(float64(p.Count))
	return c.stagePoint(t, pt, &p.Point, &reading{st: st, ms: ms, buckets: buckets, bounds: p.Bounds, counts: true})
}

// checkBuckets finds contradictions in a point (metrics.proto,
// HistogramDataPoint).
func checkBuckets(p *otlp.Histogram) Reason {
	if p.Counts.Len() == 0 && p.Bounds.Len() == 0 {
		return accepted
	}
	if p.Counts.Len() != p.Bounds.Len()+1 {
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
	return checkBounds(p.Bounds)
}

// checkBounds reports bounds that do not ascend, and too many of them.
func checkBounds(bounds otlp.Fixed64s) Reason {
	if bounds.Len() > maxBuckets {
		return ReasonLimit
	}
	for i := range bounds.Len() {
		if b := bounds.Float(i); b != b || i > 0 && b <= bounds.Float(i-1) {
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
func (s *settings) number(v float64) string {
	if math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if !s.OpenMetricsLE {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if strings.ContainsAny(text, "e.") {
		return text
	}
	return text + ".0"
}

// value appends one value of the point at hand.
func (c *converter) value(v float64) { c.values = append(c.values, math.Float64bits(v)) }

// stageStale ends every series of a point.
func (c *converter) stageStale(t *task, pt *point, p *otlp.Point, st, ms int64) (Reason, *otlp.Error) {
	n := pt.len()
	for range n {
		c.value(staleNaN)
	}
	return c.stagePoint(t, pt, p, &reading{st: st, ms: ms, buckets: n, counts: true})
}
