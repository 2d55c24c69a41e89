package converter

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/common/model"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// summaryPoint stages a point of a summary: _count, _sum and one series per
// quantile.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Summaries".
func (c *converter) summaryPoint(t *task, b []byte) (Reason, *otlp.Error) {
	p := new(otlp.Summary)
	if err := otlp.ParseSummary(b, p, &c.pointScratch); err != nil {
		return accepted, err
	}
	st, ms, reason := c.admit(t.metric, &p.Point)
	stale := p.Flags&otlp.NoRecordedValue != 0

	from := len(c.values)
	c.value(float64(p.Count))
	c.value(notStale(p.Sum))
	c.key = c.key[:0]
	for l := p.Quantiles; ; {
		b, ok := l.Next()
		if !ok {
			break
		}
		q, v, err := otlp.ParseQuantile(b)
		if err != nil {
			return accepted, err
		}
		if len(c.key) >= 8*maxBuckets && reason == accepted {
			reason = ReasonLimit
		}
		if !(q >= 0 && q <= 1) && reason == accepted && !stale {
			reason = ReasonBuckets
		}
		c.key = binary.LittleEndian.AppendUint64(c.key, math.Float64bits(q))
		c.value(notStale(v))
	}
	if reason != accepted {
		c.values = c.values[:from]
		return c.refuse(&p.Point, reason)
	}
	pt, err := c.findPoint(t, &p.Point, &shape{layout: c.key, hasSum: true, any: stale, series: len(c.key)/8 + 2, list: summarySeries})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		c.values = c.values[:from]
		c.detail = pt.detail()
		return pt.reject, nil
	}
	if stale {
		c.values = c.values[:from]
		return c.stageStale(t, pt, &p.Point, st, ms)
	}
	return c.stagePoint(t, pt, &p.Point, &reading{st: st, ms: ms, buckets: pt.len(), counts: true})
}

// summarySeries lists _count, _sum and the quantiles.
func summarySeries(c *converter, quantiles otlp.Fixed64s, _ bool) {
	c.labels.vary("_count", "", "")
	c.labels.vary("_sum", "", "")
	for i := range quantiles.Len() {
		c.labels.vary("", model.QuantileLabel, c.boundText(quantiles.Float(i)))
	}
}
