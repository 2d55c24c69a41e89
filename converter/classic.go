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
		c.detail = pt.detail
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
	return c.stageAll(t, pt, &p.Point, st, ms, buckets, p.Bounds)
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

// stageAll judges all series of a point before it stages the first: a point is
// accepted or rejected once. Its values are the last in c.values, in the order
// of its records. From the series at buckets on, exemplars go to the bucket that
// their value falls into.
func (c *converter) stageAll(t *task, pt *point, p *otlp.Point, st, ms int64, buckets int, bounds otlp.Fixed64s) (Reason, *otlp.Error) {
	values := c.values[len(c.values)-len(pt.records):]
	c.verdicts = c.verdicts[:0]
	fresh, repeated := 0, 0
	worst := series.Fresh
	var first *series.Record // the first series that gets a sample
	var refused *series.Record
	for i, r := range pt.records {
		v := series.Same // A series that relabelling dropped needs no sample.
		if r != nil {
			v = c.judge(r, ms, values[i])
		}
		c.verdicts = append(c.verdicts, v)
		switch v {
		case series.Conflict, series.Late:
			worst, refused = v, r
		case series.Fresh:
			fresh++
			if first == nil {
				first = r
			}
		case series.Repeated:
			repeated++
		}
	}
	s := staged{records: pt.records, family: &t.metric.family, st: st, ms: ms, exemplars: -1, point: int32(c.report.points)}
	if p.Exemplars.Len() > 0 {
		if err := c.pointExemplars(t, p, fresh > 0 && worst == series.Fresh, bounds, ms); err != nil {
			return accepted, err
		}
		if len(c.placed) > 0 {
			s.exemplars = int32(len(c.ranges))
			for i := range pt.records {
				c.takeExemplars(i - buckets)
			}
		}
	}
	if worst != series.Fresh || fresh < len(pt.records) {
		c.keepFresh(&s, worst != series.Fresh)
	}
	if len(s.records) > 0 {
		c.writers(t, first, st, ms, math.Float64frombits(c.values[len(c.values)-len(s.records)]), first == pt.records[0])
		c.stage(s)
	}
	switch {
	case worst == series.Conflict:
		return c.conflicting(t, refused), nil
	case worst == series.Late:
		return c.late(refused, ms), nil
	case fresh == 0 && repeated > 0:
		c.repeated++
	case fresh == 0 && !pt.gaps:
		c.merged(t, pt.records[0])
	case fresh == 0 && pt.gaps:
		if pt.dropped() {
			c.opts.metrics.dropped.Inc()
			return accepted, nil
		}
	}
	t.newest = max(t.newest, ms)
	return accepted, nil
}

// keepFresh leaves only the series in a point that were judged Fresh, or none:
// some were acknowledged by an earlier request, stand twice in this one, or
// were dropped by relabelling.
func (c *converter) keepFresh(s *staged, none bool) {
	all := s.records
	at, from := len(c.values)-len(all), len(c.picked)
	n := 0
	for i, r := range all {
		if none || c.verdicts[i] != series.Fresh {
			continue
		}
		c.picked = append(c.picked, r)
		c.values[at+n] = c.values[at+i]
		if s.exemplars >= 0 {
			c.ranges[int(s.exemplars)+n] = c.ranges[int(s.exemplars)+i]
		}
		n++
	}
	s.records = c.picked[from:len(c.picked):len(c.picked)]
	c.values = c.values[:at+n]
}

// stageStale ends every series of a point.
func (c *converter) stageStale(t *task, pt *point, p *otlp.Point, st, ms int64) (Reason, *otlp.Error) {
	for range pt.records {
		c.value(staleNaN)
	}
	return c.stageAll(t, pt, p, st, ms, len(pt.records), nil)
}
