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

// begin returns empty slices to append spans and deltas to; end closes them and
// keeps the rest of their chunks.
func (s *slab) begin() ([]histogram.Span, []int64) {
	if cap(s.spans) == 0 {
		s.spans = make([]histogram.Span, 0, slabSpans)
	}
	if cap(s.deltas) == 0 {
		s.deltas = make([]int64, 0, slabValues)
	}
	return s.spans[:0], s.deltas[:0]
}

func (s *slab) end(spans []histogram.Span, deltas []int64) ([]histogram.Span, []int64) {
	if len(spans) == 0 {
		return nil, nil
	}
	s.spans = spans[len(spans):]
	s.deltas = deltas[len(deltas):]
	return spans[:len(spans):len(spans)], deltas[:len(deltas):len(deltas)]
}
