package bench

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

const (
	startNs  = 1_700_000_000_000_000_000
	buckets  = 15
	expCount = 160
)

var quantiles = []float64{0.5, 0.75, 0.9, 0.95, 0.99}

func number(p pmetric.NumberDataPoint, attributes pcommon.Map, value int) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	p.SetDoubleValue(float64(value) + 0.5)
	attributes.CopyTo(p.Attributes())
}

func classic(p pmetric.HistogramDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	for i := range buckets {
		p.BucketCounts().Append(uint64(i))
		if i > 0 {
			p.ExplicitBounds().Append(float64(i) / 4)
		}
		p.SetCount(p.Count() + uint64(i))
	}
	p.SetSum(42)
	attributes.CopyTo(p.Attributes())
}

func exponential(p pmetric.ExponentialHistogramDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	p.SetScale(6)
	p.Positive().SetOffset(-20)
	for i := range expCount {
		p.Positive().BucketCounts().Append(uint64(i % 7))
		p.SetCount(p.Count() + uint64(i%7))
	}
	p.SetSum(42)
	attributes.CopyTo(p.Attributes())
}

func summary(p pmetric.SummaryDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	p.SetCount(100)
	p.SetSum(42)
	for _, q := range quantiles {
		v := p.QuantileValues().AppendEmpty()
		v.SetQuantile(q)
		v.SetValue(10 * q)
	}
	attributes.CopyTo(p.Attributes())
}
