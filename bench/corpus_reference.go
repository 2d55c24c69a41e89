package bench

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// NewReference returns the request of the published case that this project
// started from, BenchmarkOTLPWriteHandler of Prometheus: one target with one
// counter, gauge, histogram and exponential histogram, of one point with one
// attribute each, the counter's with an exemplar.
func NewReference(seed int) *Corpus {
	c, v := &Corpus{}, newValues()
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	a := rm.Resource().Attributes()
	a.PutStr("service.name", "reference")
	a.PutStr("service.instance.id", "instance-"+seedMark)
	a.PutStr("host.name", "reference-host")
	metrics := rm.ScopeMetrics().AppendEmpty().Metrics()
	attributes := pcommon.NewMap()
	attributes.PutStr("foo.bar", "baz")
	metric := func(name string) pmetric.Metric {
		m := metrics.AppendEmpty()
		m.SetName("reference." + name)
		m.SetDescription("The reference's " + name)
		m.SetUnit("By")
		return m
	}

	sum := metric("counter").SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	p := sum.DataPoints().AppendEmpty()
	v.number(p, attributes)
	x := p.Exemplars().AppendEmpty()
	x.SetTimestamp(timeMark)
	x.SetDoubleValue(10)
	x.SetTraceID(pcommon.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	x.SetSpanID(pcommon.SpanID{1, 2, 3, 4, 5, 6, 7, 8})
	c.count(1)

	v.number(metric("gauge").SetEmptyGauge().DataPoints().AppendEmpty(), attributes)
	c.count(1)

	h := metric("histogram").SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	hp := h.DataPoints().AppendEmpty()
	hp.SetStartTimestamp(startNs)
	hp.SetTimestamp(timeMark)
	hp.ExplicitBounds().FromRaw([]float64{0, 1, 2, 3, 4, 5})
	hp.BucketCounts().FromRaw([]uint64{2, 2, 2, 2, 2, 2, 2})
	hp.SetCount(14)
	hp.SetSum(30)
	attributes.CopyTo(hp.Attributes())
	c.count(7 + 2)

	e := metric("exponential").SetEmptyExponentialHistogram()
	e.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	ep := e.DataPoints().AppendEmpty()
	ep.SetStartTimestamp(startNs)
	ep.SetTimestamp(timeMark)
	ep.SetScale(2)
	ep.Positive().BucketCounts().FromRaw([]uint64{2, 2, 2, 2, 2})
	ep.SetZeroCount(2)
	ep.SetCount(12)
	ep.SetSum(30)
	attributes.CopyTo(ep.Attributes())
	c.count(1)

	c.encode(md, false)
	c.Seed(seed)
	return c
}
