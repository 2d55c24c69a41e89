package series

import (
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// Record is one series of one backend and tenant. Its marks are those of its
// [Group]; its labels and its owner never change.
type Record struct {
	Labels labels.Labels

	group atomic.Pointer[Group] // replaced by Alone
	ref   atomic.Uint64
	// bits are the values of the group's two marks, by slot.
	bits [2]uint64

	shared  atomic.Bool // more than one entry has held it at a time
	holders uint16      // entries that translate to this series
	lead    bool        // the first of those that were made together
}

// Costs in bytes: of a record with its slot in [Records], and of a group.
const (
	recordCost = 56 + 24
	groupCost  = 80
)

// cost returns what the record was charged.
func (r *Record) cost() int {
	n := recordCost + int(r.Labels.ByteSize())
	if r.lead {
		n += groupCost
	}
	return n
}

// Owner returns the target whose lock guards the series.
func (r *Record) Owner() *Target { return r.group.Load().Owner }

// Group returns the series that share the record's marks at the moment, this
// one among them. The caller holds the owner's lock.
func (r *Record) Group() *Group { return r.group.Load() }

// Alone returns a group of this series alone, and takes it out of its group
// when there are others in it: from then on each of those has marks of its own.
// The caller holds the owner's lock.
func (r *Record) Alone() *Group {
	g := r.group.Load()
	if len(g.records) == 1 {
		return g
	}
	g.split = true
	one := &Group{marks: g.marks}
	one.Owner = g.Owner
	for i := range g.records {
		if &g.records[i] == r {
			one.records = g.records[i : i+1 : i+1]
		}
	}
	r.group.Store(one)
	return one
}

// Ref returns the backend's ref for the series, 0 when it has none yet.
func (r *Record) Ref() storage.SeriesRef { return storage.SeriesRef(r.ref.Load()) }

// SetRef keeps the ref that the backend returned.
func (r *Record) SetRef(ref storage.SeriesRef) { r.ref.Store(uint64(ref)) }

// Shared reports whether different streams translate to the series.
func (r *Record) Shared() bool { return r.shared.Load() }
