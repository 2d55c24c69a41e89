package converter

import (
	"math"
	"math/bits"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// defaultZeroThreshold is what Prometheus takes when the sender names none: so
// small that only zero is within it.
const defaultZeroThreshold = 1e-128

// exponentialPoint stages a point of an exponential histogram as a native
// histogram.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Exponential Histograms".
func (c *converter) exponentialPoint(t *task, b []byte) (Reason, *otlp.Error) {
	p := &c.exponential
	if err := otlp.ParseExponentialHistogram(b, p, &c.pointScratch); err != nil {
		return accepted, err
	}
	st, ms, reason := c.admit(t.metric, &p.Point)
	stale := p.Flags&otlp.NoRecordedValue != 0
	if reason == accepted && !stale {
		reason = c.checkExponential(p)
	}
	if reason != accepted {
		return c.refuse(&p.Point, reason)
	}
	var h *histogram.Histogram
	if stale {
		h = c.slab.histogram()
		*h = histogram.Histogram{Sum: staleNaN}
	} else {
		shift := max(0, p.Scale-histogram.ExponentialSchemaMax)
		h = c.slab.histogram()
		*h = histogram.Histogram{
			Schema: p.Scale - shift, ZeroThreshold: p.ZeroThreshold, ZeroCount: p.ZeroCount,
			Count: p.Count, Sum: notStale(p.Sum),
		}
		if h.ZeroThreshold == 0 {
			h.ZeroThreshold = defaultZeroThreshold
		}
		// c.counts holds the positive counts and behind them the negative ones.
		h.PositiveSpans, h.PositiveBuckets = c.slab.layout(c.counts[:c.positives], int64(p.Positive.Offset), uint(shift), 1)
		h.NegativeSpans, h.NegativeBuckets = c.slab.layout(c.counts[c.positives:], int64(p.Negative.Offset), uint(shift), 1)
	}
	return c.stageNative(t, &p.Point, st, ms, h)
}

// customPoint stages an explicit-bucket histogram as a native histogram with
// custom buckets.
func (c *converter) customPoint(t *task, p *otlp.Histogram, st, ms int64, stale bool) (Reason, *otlp.Error) {
	h := c.slab.histogram()
	*h = histogram.Histogram{Schema: histogram.CustomBucketsSchema, Sum: staleNaN}
	if !stale {
		h.Count, h.Sum = p.Count, notStale(p.Sum)
		n := finite(p.Bounds)
		h.CustomValues = c.slab.floats(n)
		for i := range n {
			h.CustomValues[i] = p.Bounds.Float(i)
		}
		c.counts = c.counts[:0]
		for i := range p.Counts.Len() {
			if i > n { // The bucket behind an infinite bound joins the overflow.
				c.counts[n] += p.Counts.At(i)
				continue
			}
			c.counts = append(c.counts, p.Counts.At(i))
		}
		if len(c.counts) == 0 {
			c.counts = append(c.counts, p.Count)
		}
		for _, n := range c.counts {
			if n > math.MaxInt64 {
				return c.refuse(&p.Point, ReasonBuckets)
			}
		}
		h.PositiveSpans, h.PositiveBuckets = c.slab.layout(c.counts, 0, 0, 0)
	}
	return c.stageNative(t, &p.Point, st, ms, h)
}

// stageNative stages a native histogram.
func (c *converter) stageNative(t *task, p *otlp.Point, st, ms int64, h *histogram.Histogram) (Reason, *otlp.Error) {
	pt, err := c.findPoint(t, p, shape{series: 1, list: oneSeries})
	if err != nil {
		return accepted, err
	}
	if pt.reject != accepted {
		c.detail = pt.detail()
		return pt.reject, otlp.CheckExemplars(p.Exemplars)
	}
	c.values = append(c.values, nativeBits(h))
	return c.stagePoint(t, pt, p, &reading{st: st, ms: ms, h: h})
}

// checkExponential reads the bucket counts into c.counts and finds what a
// native histogram cannot hold.
func (c *converter) checkExponential(p *otlp.ExponentialHistogram) Reason {
	c.counts = p.Positive.AppendCounts(c.counts[:0])
	c.positives = len(c.counts)
	c.counts = p.Negative.AppendCounts(c.counts)
	switch {
	case !p.HasSum:
		return ReasonNoSum
	case p.Scale < histogram.ExponentialSchemaMin:
		return ReasonScale
	case !(p.ZeroThreshold >= 0) || math.IsInf(p.ZeroThreshold, 0):
		return ReasonBuckets
	}
	total, carry := p.ZeroCount, uint64(0)
	for _, n := range c.counts {
		var over uint64
		total, over = bits.Add64(total, n, 0)
		carry |= over
	}
	// With every count and every sum of counts at most the total, deltas and
	// merged buckets fit an int64 when the total does.
	if carry != 0 || total != p.Count || total > math.MaxInt64 {
		return ReasonBuckets
	}
	shift := uint(max(0, p.Scale-histogram.ExponentialSchemaMax))
	if !indexFits(p.Positive.Offset, c.positives, shift) || !indexFits(p.Negative.Offset, len(c.counts)-c.positives, shift) {
		return ReasonScale
	}
	return accepted
}

// indexFits reports whether the native indexes of n buckets from offset on are
// 32-bit numbers.
func indexFits(offset int32, n int, shift uint) bool {
	return n == 0 || nativeIndex(int64(offset)+int64(n)-1, shift, 1) <= math.MaxInt32
}

// nativeIndex returns the native index of bucket i after merging 2^shift
// buckets: OTLP's bucket 0 is (1, base], Prometheus's is (1/base, 1].
func nativeIndex(i int64, shift uint, base int64) int64 { return i>>min(shift, 63) + base }

// maxGap is how many empty buckets are spelled out rather than skipped by a
// new span, which costs as much as two.
const maxGap = 2

// layout turns dense counts into spans and deltas: empty buckets are left out,
// but for gaps of at most maxGap. The first span's offset is the index of the
// first bucket, those of the others are gap lengths.
func (s *slab) layout(counts []uint64, offset int64, shift uint, base int64) ([]histogram.Span, []int64) {
	spans, deltas := s.begin(len(counts))
	var previous int64
	last := int64(0) // native index of the last bucket written
	for i := 0; i < len(counts); {
		index := nativeIndex(offset+int64(i), shift, base)
		n := uint64(0)
		for i < len(counts) && nativeIndex(offset+int64(i), shift, base) == index {
			n += counts[i]
			i++
		}
		if n == 0 {
			continue
		}
		gap := index - last - 1
		switch {
		case len(spans) == 0:
			spans = append(spans, histogram.Span{Offset: int32(index)})
		case gap > maxGap:
			spans = append(spans, histogram.Span{Offset: int32(gap)})
		default:
			for range gap {
				deltas = append(deltas, -previous)
				previous = 0
				spans[len(spans)-1].Length++
			}
		}
		spans[len(spans)-1].Length++
		deltas = append(deltas, int64(n)-previous)
		previous, last = int64(n), index
	}
	return s.end(spans, deltas)
}

// nativeBits is what the marks compare of a histogram: a hash of its value.
func nativeBits(h *histogram.Histogram) uint64 {
	x := uint64(14695981039346656037)
	mix := func(v uint64) {
		x = (x ^ v) * 1099511628211
		x ^= x >> 32
	}
	mix(h.Count)
	mix(math.Float64bits(h.Sum))
	mix(h.ZeroCount)
	mix(math.Float64bits(h.ZeroThreshold))
	mix(uint64(h.Schema))
	for _, spans := range [][]histogram.Span{h.PositiveSpans, h.NegativeSpans} {
		mix(uint64(len(spans)))
		for _, s := range spans {
			mix(uint64(uint32(s.Offset))<<32 | uint64(s.Length))
		}
	}
	for _, deltas := range [][]int64{h.PositiveBuckets, h.NegativeBuckets} {
		mix(uint64(len(deltas)))
		for _, d := range deltas {
			mix(uint64(d))
		}
	}
	for _, v := range h.CustomValues {
		mix(math.Float64bits(v))
	}
	return x
}
