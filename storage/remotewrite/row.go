package remotewrite

import (
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
)

// Sample is one append, as the backend took it.
type Sample struct {
	Series *Series
	// Meta may be nil.
	Meta *Metadata
	// N is the number of the append in its transaction, from 0.
	N int
	// T is the sample's time and ST when its counter started, in ms; ST is zero
	// if that is not known.
	T, ST int64
	// One of V, H and FH is the value: FH if it is not nil, then H, then V.
	V  float64
	H  *histogram.Histogram
	FH *histogram.FloatHistogram
	// Exemplars belong to the holder of the sample.
	Exemplars []exemplar.Exemplar
}

// Row is a sample as one destination gets it: with that destination's labels,
// and one of several if the sample is a histogram that was taken apart.
type Row struct {
	Form      *Form
	Meta      *Metadata
	N         int
	T, ST     int64
	V         float64
	H         *histogram.Histogram
	FH        *histogram.FloatHistogram
	Exemplars []exemplar.Exemplar
}

func (r *Row) isHistogram() bool { return r.H != nil || r.FH != nil }

// sequence brings the rows of a series together and into time order, which the
// specification asks of senders. Rows that are so already, all but always, cost
// a look.
type sequence struct {
	groups map[*Form]int
	group  []int // by row
	tails  []tail
	out    []Row
}

type tail struct {
	count     int
	last      int64
	unordered bool
}

// maxKeptRows bounds what a sequence keeps for reuse: ten requests' worth.
const maxKeptRows = 20_000

// order returns rows, or a sorted copy that is valid until the next call.
func (s *sequence) order(rows []Row) []Row {
	if s.groups == nil {
		s.groups = map[*Form]int{}
	}
	clear(s.groups)
	s.group, s.tails = s.group[:0], s.tails[:0]
	scattered, unordered := false, false
	for i := range rows {
		r := &rows[i]
		var g int
		if i > 0 && rows[i-1].Form == r.Form {
			g = s.group[i-1]
		} else if known, ok := s.groups[r.Form]; ok {
			g, scattered = known, true
		} else {
			g = len(s.tails)
			s.groups[r.Form] = g
			s.tails = append(s.tails, tail{last: r.T})
		}
		s.group = append(s.group, g)
		t := &s.tails[g]
		t.count++
		if r.T < t.last {
			t.unordered, unordered = true, true
		}
		t.last = r.T
	}
	if !scattered && !unordered {
		return rows
	}
	return s.sort(rows)
}

func (s *sequence) sort(rows []Row) []Row {
	s.out = slices.Grow(s.out[:0], len(rows))[:len(rows)]
	at := 0
	starts := make([]int, len(s.tails))
	for g := range s.tails {
		starts[g] = at
		at += s.tails[g].count
	}
	next := slices.Clone(starts)
	for i, g := range s.group {
		s.out[next[g]] = rows[i]
		next[g]++
	}
	for g, t := range s.tails {
		if t.unordered {
			slices.SortStableFunc(s.out[starts[g]:next[g]], func(a, b Row) int {
				switch {
				case a.T < b.T:
					return -1
				case a.T > b.T:
					return 1
				}
				return 0
			})
		}
	}
	return s.out
}

// reset drops references to what the rows held.
func (s *sequence) reset() {
	if cap(s.out) > maxKeptRows || len(s.groups) > maxKeptRows {
		*s = sequence{}
		return
	}
	clear(s.groups)
	clear(s.out[:cap(s.out)])
}
