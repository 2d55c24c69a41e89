package remotewrite

import (
	"slices"
	"unsafe"

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

func (s *Sample) isHistogram() bool { return s.H != nil || s.FH != nil }

// isNHCB reports whether the sample is a histogram with custom buckets.
func (s *Sample) isNHCB() bool {
	switch {
	case s.FH != nil:
		return histogram.IsCustomBucketsSchema(s.FH.Schema)
	case s.H != nil:
		return histogram.IsCustomBucketsSchema(s.H.Schema)
	}
	return false
}

// Row is a sample as one destination gets it: with that destination's labels,
// and one of several if the sample is a histogram that was taken apart.
type Row struct {
	*Sample
	Form *Form
	unit int32 // of the batch
	zero bool  // there is a zero at its start time before it; 1.0 only
}

// sequence brings the rows of a series together and into time order, which the
// specification asks of senders. Rows that are so already, all but always, cost
// a look: at the numbers of their series if these ascend, and otherwise into a
// table of what came before.
type sequence struct {
	seen  []seen // open, by form; its length is a power of two
	round uint32

	groups map[*Form]int
	group  []int // by row
	tails  []tail
	out    []Row
}

// seen holds an address to compare, not to follow: it keeps nothing alive.
type seen struct {
	form  uintptr
	round uint32
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
	ascending := true
	for i := 1; i < len(rows); i++ {
		if a, b := &rows[i-1], &rows[i]; a.Form == b.Form {
			if b.T < a.T {
				return s.sort(rows)
			}
		} else if b.Form.num() <= a.Form.num() {
			ascending = false
		}
	}
	if !ascending && s.scattered(rows) {
		return s.sort(rows)
	}
	return rows
}

// scattered reports whether a form has rows that are not next to each other.
func (s *sequence) scattered(rows []Row) bool {
	if len(s.seen) < 2*len(rows) {
		size := 64
		for size < 2*len(rows) {
			size *= 2
		}
		s.seen, s.round = make([]seen, size), 0
	}
	if s.round++; s.round == 0 {
		clear(s.seen)
		s.round = 1
	}
	mask := uint64(len(s.seen) - 1)
	for i := range rows {
		if i > 0 && rows[i-1].Form == rows[i].Form {
			continue
		}
		form := uintptr(unsafe.Pointer(rows[i].Form))
		at := uint64(form) * 0x9e3779b97f4a7c15 >> 32 & mask
		for s.seen[at].round == s.round {
			if s.seen[at].form == form {
				return true
			}
			at = (at + 1) & mask
		}
		s.seen[at] = seen{form, s.round}
	}
	return false
}

func (s *sequence) sort(rows []Row) []Row {
	if s.groups == nil {
		s.groups = map[*Form]int{}
	}
	clear(s.groups)
	s.group, s.tails = s.group[:0], s.tails[:0]
	for i := range rows {
		r := &rows[i]
		g, known := s.groups[r.Form]
		if !known {
			g = len(s.tails)
			s.groups[r.Form] = g
			s.tails = append(s.tails, tail{last: r.T})
		}
		s.group = append(s.group, g)
		t := &s.tails[g]
		t.count++
		t.unordered = t.unordered || r.T < t.last
		t.last = r.T
	}

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
	if cap(s.out) > maxKeptRows || len(s.groups) > maxKeptRows || len(s.seen) > 4*maxKeptRows {
		*s = sequence{}
		return
	}
	clear(s.groups)
	clear(s.out[:cap(s.out)])
}
