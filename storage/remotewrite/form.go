package remotewrite

import (
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
)

// Form is a series as one destination gets it: relabelled, and with what the
// encoders derive from the labels. Forms are compared by pointer. Without
// relabelling it is part of the [Series] itself.
//
// There is one for every series and destination, so it is packed: the symbols
// of its labels are those of its template but for up to three values.
type Form struct {
	labels   labels.Labels
	template *template // nil if the labels have no numbers

	// a holds the series' number in the table (40 bits) and the first differing
	// value (24), b two more and then the labels of the three, 5 bits each. An
	// id of 0 is none: no label has an empty value.
	a, b uint64

	extra atomic.Pointer[extra]
}

// extra is what few forms need.
type extra struct {
	// v1 holds the label fields of a 1.0 TimeSeries.
	v1 []byte
	// classic holds the series of a converted histogram with custom buckets.
	classic *classic
	// forms is what destinations with rules get, by destination; nil where a
	// rule drops the series or there is no rule at all.
	forms []*Form
}

const numBits = 40

// Labels returns the label set that goes out in 2.0 messages.
func (f *Form) Labels() labels.Labels { return f.labels }

// num returns the number of the form's series.
func (f *Form) num() uint64 { return f.a & (1<<numBits - 1) }

// resemble makes f a variation of t, if the labels in ids are one.
func (f *Form) resemble(t *template, ids []uint32) bool {
	if len(t.ids) != len(ids) {
		return false
	}
	var at, id [maxVaries]uint32
	n := 0
	for i, want := range t.ids {
		if ids[i] == want {
			continue
		}
		if i%2 == 0 || n == maxVaries || i/2 >= maxVaryLabel {
			return false
		}
		at[n], id[n] = uint32(i/2), ids[i]
		n++
	}
	f.template = t
	f.a |= uint64(id[0]) << numBits
	f.b = uint64(id[1]) | uint64(id[2])<<24 | uint64(at[0])<<48 | uint64(at[1])<<53 | uint64(at[2])<<58
	bits := uint32(0)
	for i := range n {
		bits |= 1 << at[i]
	}
	if old := t.varies.Load(); old|bits != old {
		t.varies.Or(bits)
	}
	return true
}

// variation returns the nth value that is not the template's, and its label; an
// id of 0 ends the list.
func (f *Form) variation(n int) (label, id uint32) {
	switch n {
	case 0:
		return uint32(f.b>>48) & 31, uint32(f.a >> numBits)
	case 1:
		return uint32(f.b>>53) & 31, uint32(f.b) & maxID
	}
	return uint32(f.b>>58) & 31, uint32(f.b>>24) & maxID
}

// update changes what is derived, which several senders may do at a time.
func (f *Form) update(change func(*extra)) *extra {
	for {
		old := f.extra.Load()
		next := &extra{}
		if old != nil {
			*next = *old
		}
		change(next)
		if f.extra.CompareAndSwap(old, next) {
			return next
		}
	}
}
