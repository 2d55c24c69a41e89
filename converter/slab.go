package converter

import "github.com/prometheus/prometheus/model/histogram"

// slab hands out memory for native histograms. The store keeps what it is given,
// so nothing here is ever handed out twice; what is left of a chunk serves the
// next request.
//
// A chunk is as large as what the request before used, so that a request takes
// one chunk of histograms and one of deltas, and a histogram that a store keeps
// pins what came with it and no more.
type slab struct {
	shells []shell
	deltas []int64
	spans  []histogram.Span
	values []float64
	// How many of the shells and deltas are given away: writing numbers is
	// cheaper than writing slices.
	shellsGone, deltasGone int

	used, last need
}

// shell is a histogram with room for one span of each sign, which most have.
type shell struct {
	h    histogram.Histogram
	span [2]histogram.Span
}

// need is how many shells and deltas a request took.
type need struct{ shells, deltas int }

// Bounds of chunks: at least a small request's worth, at most some hundred
// kilobytes.
const (
	minShells, maxShells = 8, 512
	minDeltas, maxDeltas = 128, 16 << 10
	slabSpans            = 256
	slabValues           = 1024
)

// begin starts a request.
func (s *slab) begin() { s.last, s.used = s.used, need{} }

func (s *slab) shell() *shell {
	if s.shellsGone == len(s.shells) {
		s.shells = make([]shell, min(max(s.last.shells-s.used.shells, minShells), maxShells))
		s.shellsGone = 0
	}
	h := &s.shells[s.shellsGone]
	s.shellsGone++
	s.used.shells++
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

// room returns memory for at most n deltas, to be closed with take.
func (s *slab) room(n int) []int64 {
	if len(s.deltas)-s.deltasGone < n {
		s.deltas = make([]int64, max(n, min(max(s.last.deltas-s.used.deltas+n, minDeltas), maxDeltas)))
		s.deltasGone = 0
	}
	return s.deltas[s.deltasGone:]
}

// take returns the first n deltas of what room returned. Of a chunk of more than
// the bound the rest is nothing: it would pin what one huge histogram needed.
func (s *slab) take(n int) []int64 {
	from := s.deltasGone
	d := s.deltas[from : from+n : from+n]
	s.deltasGone += n
	s.used.deltas += n
	if len(s.deltas) > maxDeltas {
		s.deltas, s.deltasGone = nil, 0
	}
	return d
}

// more returns spans in memory of their own with one added, when a histogram
// has more than its shell has room for.
func (s *slab) more(spans []histogram.Span, next histogram.Span) []histogram.Span {
	if len(spans) == cap(spans) {
		n := max(4, 2*len(spans))
		if len(s.spans) < n {
			s.spans = make([]histogram.Span, max(n, slabSpans))
		}
		spans = append(s.spans[:0:n], spans...)
		s.spans = s.spans[n:]
	}
	return append(spans, next)
}
