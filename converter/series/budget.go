package series

import "sync/atomic"

// Budget counts what the cache holds against its bounds. It is safe for
// concurrent use.
type Budget struct {
	maxBytes, maxSeries int64
	bytes, series       atomic.Int64
	refused             atomic.Bool
}

// reserve takes room, or reports that there is none.
func (b *Budget) reserve(bytes, series int) bool {
	if b.bytes.Add(int64(bytes)) > b.maxBytes {
		b.bytes.Add(-int64(bytes))
		b.refused.Store(true)
		return false
	}
	if series == 0 {
		return true
	}
	if n := b.series.Add(int64(series)); b.maxSeries > 0 && n > b.maxSeries {
		b.series.Add(-int64(series))
		b.bytes.Add(-int64(bytes))
		b.refused.Store(true)
		return false
	}
	return true
}

// Roomy reports whether there is room for so many series without looking at
// them, and much more.
func (b *Budget) Roomy(series int) bool {
	n := int64(series)
	return b.bytes.Load()+n*roomySeries < b.maxBytes && (b.maxSeries == 0 || b.series.Load()+n <= b.maxSeries)
}

// roomySeries is more than a series takes, in bytes, but for one of huge labels.
const roomySeries = 64 << 10

// release gives room back.
func (b *Budget) release(bytes, series int) {
	b.bytes.Add(-int64(bytes))
	b.series.Add(-int64(series))
}
