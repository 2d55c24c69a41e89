package bench

import (
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

const (
	startNs     = 1_700_000_000_000_000_000
	buckets     = 15
	expBuckets  = 40
	wideBuckets = 160
)

// values of points come from a generator of their own: they compress as real
// ones do, and are the same in every process.
type values struct{ *rand.Rand }

func newValues() values { return values{rand.New(rand.NewPCG(1, 2))} }

var quantiles = []float64{0.5, 0.75, 0.9, 0.95, 0.99}

func (v values) number(p pmetric.NumberDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	p.SetDoubleValue(1000 * v.Float64())
	attributes.CopyTo(p.Attributes())
}

func (v values) classic(p pmetric.HistogramDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	for i := range buckets {
		n := v.Uint64N(1000)
		p.BucketCounts().Append(n)
		if i > 0 {
			p.ExplicitBounds().Append(float64(i) / 4)
		}
		p.SetCount(p.Count() + n)
	}
	p.SetSum(1000 * v.Float64())
	attributes.CopyTo(p.Attributes())
}

func (v values) exponential(p pmetric.ExponentialHistogramDataPoint, attributes pcommon.Map, wide bool) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	p.SetScale(6)
	p.Positive().SetOffset(-20)
	n := expBuckets
	if wide {
		n = wideBuckets
	}
	for range n {
		n := v.Uint64N(7) // Every seventh bucket is empty.
		p.Positive().BucketCounts().Append(n)
		p.SetCount(p.Count() + n)
	}
	p.SetSum(1000 * v.Float64())
	attributes.CopyTo(p.Attributes())
}

func (v values) summary(p pmetric.SummaryDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(timeMark)
	p.SetCount(100)
	p.SetSum(1000 * v.Float64())
	for _, q := range quantiles {
		at := p.QuantileValues().AppendEmpty()
		at.SetQuantile(q)
		at.SetValue(1000 * v.Float64())
	}
	attributes.CopyTo(p.Attributes())
}
