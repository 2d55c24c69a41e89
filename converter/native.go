package converter

import (
	"hash/maphash"
	"math"
	"math/bits"
	"unsafe"

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
	p := new(otlp.ExponentialHistogram)
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
	in := c.slab.shell()
	h := &in.h
	if stale {
		h.Sum = staleNaN
		return c.stageNative(t, &p.Point, st, ms, h)
	}
	shift := max(0, p.Scale-histogram.ExponentialSchemaMax)
	h.Schema, h.Count, h.Sum = p.Scale-shift, p.Count, notStale(p.Sum)
	h.ZeroThreshold, h.ZeroCount = p.ZeroThreshold, p.ZeroCount
	if h.ZeroThreshold == 0 {
		h.ZeroThreshold = defaultZeroThreshold
	}
	// c.counts holds the positive counts and behind them the negative ones.
	positive, first := mergeBuckets(c.counts[:c.positives], int64(p.Positive.Offset), uint(shift))
	h.PositiveSpans, h.PositiveBuckets = c.slab.layout(in.span[:0:1], positive, first+1)
	if c.positives < len(c.counts) {
		negative, first := mergeBuckets(c.counts[c.positives:], int64(p.Negative.Offset), uint(shift))
		h.NegativeSpans, h.NegativeBuckets = c.slab.layout(in.span[1:1:2], negative, first+1)
	}
	return c.stageNative(t, &p.Point, st, ms, h)
}

// customPoint stages an explicit-bucket histogram as a native histogram with
// custom buckets.
func (c *converter) customPoint(t *task, p *otlp.Histogram, st, ms int64, stale bool) (Reason, *otlp.Error) {
	in := c.slab.shell()
	h := &in.h
	h.Schema, h.Sum = histogram.CustomBucketsSchema, staleNaN
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
		h.PositiveSpans, h.PositiveBuckets = c.slab.layout(in.span[:0:1], c.counts, 0)
	}
	return c.stageNative(t, &p.Point, st, ms, h)
}

// stageNative stages a native histogram.
func (c *converter) stageNative(t *task, p *otlp.Point, st, ms int64, h *histogram.Histogram) (Reason, *otlp.Error) {
	pt, err := c.findPoint(t, p, &shape{series: 1, list: oneSeries})
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
	return n == 0 || nativeIndex(int64(offset)+int64(n)-1, shift)+1 <= math.MaxInt32
}

// nativeIndex returns the index of bucket i after merging 2^shift buckets, in
// OTLP's count: its bucket 0 is (1, base], Prometheus's is (1/base, 1], so that
// one more is Prometheus's.
func nativeIndex(i int64, shift uint) int64 { return i >> min(shift, 63) }

// mergeBuckets merges 2^shift buckets into each, in place. It returns the index
// of the first one.
func mergeBuckets(counts []uint64, offset int64, shift uint) ([]uint64, int64) {
	first := nativeIndex(offset, shift)
	if shift == 0 {
		return counts, first
	}
	merged := counts[:0]
	for i, n := range counts {
		if at := int(nativeIndex(offset+int64(i), shift) - first); at < len(merged) {
			merged[at] += n
		} else {
			merged = append(merged, n) // At most at i, which was read.
		}
	}
	return merged, first
}

// maxGap is how many empty buckets are spelled out rather than skipped by a
// new span, which costs as much as two.
const maxGap = 2

// layout turns dense counts into spans and deltas: empty buckets are left out,
// but for gaps of at most maxGap. The first span's offset is the index of the
// first bucket, those of the others are gap lengths. Spans go to the given
// memory as long as they fit.
func (s *slab) layout(spans []histogram.Span, counts []uint64, index int64) ([]histogram.Span, []int64) {
	i := 0
	for i < len(counts) && counts[i] == 0 {
		i++
	}
	if i == len(counts) {
		return nil, nil
	}
	spans = append(spans, histogram.Span{Offset: int32(index + int64(i))})
	d := s.room(countDeltas(counts[i:]))
	n, from := 0, 0 // deltas written, and those of them before the last span
	gap := 0
	previous := uint64(0)
	for ; i < len(counts); i++ {
		count := counts[i]
		if count == 0 {
			gap++
			continue
		}
		if gap > maxGap {
			spans[len(spans)-1].Length = uint32(n - from)
			spans, from = s.more(spans, histogram.Span{Offset: int32(gap)}), n
		} else {
			for ; gap > 0; gap-- {
				d[n] = -int64(previous)
				previous = 0
				n++
			}
		}
		gap = 0
		d[n] = int64(count - previous)
		previous = count
		n++
	}
	spans[len(spans)-1].Length = uint32(n - from)
	return spans[:len(spans):len(spans)], s.take(n)
}

// countDeltas returns how many deltas a run of counts takes at most: exactly as
// many for a long one, of which a store would otherwise keep empty memory.
func countDeltas(counts []uint64) int {
	if len(counts) <= exactDeltas {
		return len(counts)
	}
	n, gap := 0, 0
	for _, count := range counts {
		if count == 0 {
			gap++
			continue
		}
		if gap <= maxGap {
			n += gap
		}
		n++
		gap = 0
	}
	return n
}

// exactDeltas is how many deltas are not counted before: more than SDKs make.
const exactDeltas = 320

// nativeBits is what the marks compare of a histogram: a hash of its value.
func nativeBits(h *histogram.Histogram) uint64 {
	x := maphash.Bytes(nativeSeed, memory(h.PositiveBuckets))
	mix := func(v uint64) {
		hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, v^0xd6e8feb86659fd93)
		x = bits.RotateLeft64(x, 29) ^ hi ^ lo
	}
	mix(h.Count)
	mix(math.Float64bits(h.Sum))
	mix(h.ZeroCount)
	mix(math.Float64bits(h.ZeroThreshold))
	mix(uint64(uint32(h.Schema))<<32 | uint64(len(h.PositiveSpans)))
	for _, s := range h.PositiveSpans {
		mix(uint64(uint32(s.Offset))<<32 | uint64(s.Length))
	}
	if len(h.NegativeSpans) > 0 {
		mix(maphash.Bytes(nativeSeed, memory(h.NegativeSpans)))
		mix(maphash.Bytes(nativeSeed, memory(h.NegativeBuckets)))
	}
	if len(h.CustomValues) > 0 {
		mix(maphash.Bytes(nativeSeed, memory(h.CustomValues)))
	}
	return x
}

var nativeSeed = maphash.MakeSeed()

// memory returns the bytes that numbers are made of.
func memory[T histogram.Span | int64 | float64](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}
