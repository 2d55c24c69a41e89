package converter

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// histogramPoint stages a point of an explicit-bucket histogram: classic
// series, or one native histogram with custom buckets.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Histograms".
func (c *converter) histogramPoint(t *task, b []byte) (Reason, *otlp.Error) {
	p := new(otlp.Histogram)
	if err := otlp.ParseHistogram(b, p, &c.pointScratch); err != nil {
		return accepted, err
	}
	t.metric.frame.Learn(b, p.Attributes, true)
	st, ms, reason := c.admit(t.metric, &p.Point)
	stale := p.Flags&otlp.NoRecordedValue != 0
	if reason == accepted && (stale || t.metric.native) {
		return c.unusualHistogram(t, p, st, ms, stale)
	}
	from := len(c.values)
	buckets := 0
	if reason == accepted {
		if buckets, reason = c.classicValues(p.Count, p.HasSum, p.Sum, p.Counts, p.Bounds); reason == accepted && t.metric.shape != string(p.Bounds) {
			reason = checkBounds(p.Bounds)
		}
	}
	if reason != accepted {
		c.values = c.values[:from]
		return c.refuse(&p.Point, reason)
	}
	pt, err := c.findPoint(t, &p.Point, &shape{layout: p.Bounds, hasSum: p.HasSum, series: p.Bounds.Len() + 3, list: classicSeries})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		c.values = c.values[:from]
		c.detail = pt.detail()
		return pt.reject, otlp.CheckExemplars(p.Exemplars)
	}
	return c.stagePoint(t, pt, &p.Point, &reading{st: st, ms: ms, buckets: buckets, bounds: p.Bounds, counts: true})
}

// unusualHistogram stages a point that ends its series, or one that becomes a
// native histogram.
func (c *converter) unusualHistogram(t *task, p *otlp.Histogram, st, ms int64, stale bool) (Reason, *otlp.Error) {
	if !stale {
		from := len(c.values)
		_, reason := c.classicValues(p.Count, p.HasSum, p.Sum, p.Counts, p.Bounds)
		c.values = c.values[:from]
		if reason == accepted {
			reason = checkBounds(p.Bounds)
		}
		if reason == accepted && !p.HasSum {
			reason = ReasonNoSum
		}
		if reason != accepted {
			return c.refuse(&p.Point, reason)
		}
	} else if checkBounds(p.Bounds) != accepted {
		p.Bounds = nil // Of a point without a value only attributes and times count.
	}
	if t.metric.native {
		return c.customPoint(t, p, st, ms, stale)
	}
	pt, err := c.findPoint(t, &p.Point, &shape{
		layout: p.Bounds, hasSum: p.HasSum, any: true, series: p.Bounds.Len() + 3, list: classicSeries,
	})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		c.detail = pt.detail()
		return pt.reject, otlp.CheckExemplars(p.Exemplars)
	}
	return c.stageStale(t, pt, &p.Point, st, ms)
}

// classicValues appends the values of a histogram's series to c.values: count,
// sum if there is one, and the buckets, from which on it returns the index. It
// finds counts that contradict each other (metrics.proto, HistogramDataPoint).
func (c *converter) classicValues(count uint64, hasSum bool, sum float64, counts, bounds otlp.Fixed64s) (buckets int, reason Reason) {
	n := counts.Len()
	if n != bounds.Len()+1 && (n > 0 || bounds.Len() > 0) {
		return 0, ReasonBuckets
	}
	all := math.Float64bits(float64(count))
	v := slices.Grow(c.values, finite(bounds)+3)
	v = append(v, all)
	buckets = 1
	if hasSum {
		v = append(v, math.Float64bits(notStale(sum)))
		buckets = 2
	}
	total, carry := uint64(0), uint64(0)
	last := finite(bounds)
	for i := range n {
		var over uint64
		total, over = bits.Add64(total, counts.At(i), 0)
		carry |= over
		if i < last {
			v = append(v, math.Float64bits(float64(total)))
		}
	}
	v = append(v, all)
	c.values = v
	if n > 0 && (total != count || carry != 0) {
		return 0, ReasonBuckets
	}
	return buckets, accepted
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
func classicSeries(c *converter, bounds otlp.Fixed64s, hasSum bool) {
	c.labels.vary("_count", "", "")
	if hasSum {
		c.labels.vary("_sum", "", "")
	}
	for i := range finite(bounds) {
		c.labels.vary("_bucket", model.BucketLabel, c.boundText(bounds.Float(i)))
	}
	c.labels.vary("_bucket", model.BucketLabel, "+Inf")
}

// boundText returns a bound or a quantile as text: in the shortest form, or as
// OpenMetrics does, which gives whole numbers a fraction. It lives as long as
// the labels of the point at hand.
func (c *converter) boundText(v float64) string {
	lb := &c.labels
	from := len(lb.text)
	if math.IsInf(v, 0) || !c.opts.OpenMetricsLE {
		lb.text = strconv.AppendFloat(lb.text, v, 'f', -1, 64)
		return view(lb.text[from:])
	}
	lb.text = strconv.AppendFloat(lb.text, v, 'g', -1, 64)
	if !bytes.ContainsAny(lb.text[from:], "e.") {
		lb.text = append(lb.text, ".0"...)
	}
	return view(lb.text[from:])
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
