package converter

import "github.com/prometheus/prometheus/model/histogram"

// slab hands out memory for native histograms in chunks. The store keeps what
// it is given, so nothing here is ever handed out twice; what is left of a
// chunk serves the next request.
type slab struct {
	histograms []histogram.Histogram
	spans      []histogram.Span
	deltas     []int64
	values     []float64
}

// Chunk sizes: a few kilobytes each, so that one kept histogram pins little.
const (
	slabHistograms = 32
	slabSpans      = 256
	slabValues     = 1024
)

func (s *slab) histogram() *histogram.Histogram {
	if len(s.histograms) == 0 {
		s.histograms = make([]histogram.Histogram, slabHistograms)
	}
	h := &s.histograms[0]
	s.histograms = s.histograms[1:]
	return h
}

// floats returns n fresh values, or nil for none.
func (s *slab) floats(n int) []float64 {
	if n == 0 {
		return nil
	}
	if len(s.values) < n {
		s.values = make([]float64, max(n, slabValues))
	}
	v := s.values[:n:n]
	s.values = s.values[n:]
	return v
}

// begin returns empty slices to append the spans and deltas of n buckets to,
// with room for all of them: a histogram that outgrew a chunk would leave one
// of its own size behind. End closes them and keeps the rest of their chunks.
func (s *slab) begin(n int) ([]histogram.Span, []int64) {
	// Between two spans lie more than maxGap empty buckets.
	if spans := n/(maxGap+2) + 1; cap(s.spans) < spans {
		s.spans = make([]histogram.Span, 0, max(spans, slabSpans))
	}
	if cap(s.deltas) < n {
		s.deltas = make([]int64, 0, max(n, slabValues))
	}
	return s.spans[:0], s.deltas[:0]
}

func (s *slab) end(spans []histogram.Span, deltas []int64) ([]histogram.Span, []int64) {
	if len(spans) == 0 {
		return nil, nil
	}
	s.spans, s.deltas = rest(spans, slabSpans), rest(deltas, slabValues)
	return spans[:len(spans):len(spans)], deltas[:len(deltas):len(deltas)]
}

// rest returns what is left of a chunk behind used. Of more than a chunk it is
// nothing: it would pin what one huge histogram needed.
func rest[T any](used []T, chunk int) []T {
	if cap(used) > chunk {
		return nil
	}
	return used[len(used):]
}
