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

// release gives room back.
func (b *Budget) release(bytes, series int) {
	b.bytes.Add(-int64(bytes))
	b.series.Add(-int64(series))
}
