package series

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// Group is the series of one data point, all of which get a sample whenever one
// does, so that one pair of marks serves them all: a histogram of 17 series is
// judged, offered and settled by one look at their times. They lie behind one
// another in memory. When one of them turns out to be written apart from the
// others, it leaves; see [Record.Alone].
//
// Two marks: offered advances when samples are converted and is never taken
// back; acknowledged advances when a Commit that held the samples returned nil.
// Late and duplicate samples are judged by what is acknowledged, so that what a
// failed commit lost is taken again; order among requests in flight looks at
// what is offered.
//
// The marks are guarded by the lock of Owner, whichever target's stream is
// being converted; owner and records never change.
type Group struct {
	Owner   *Target
	records []Record

	marks
	split bool // some record has marks of its own
}

// marks are what is known about the last samples. Two slots hold time and
// values of the newest offered and of the newest acknowledged ones; when those
// are the same, so are the slots, and the other one is free.
type marks struct {
	ms             [2]int64
	startMs        int64  // start timestamp of the last offer, 0 for none
	txn            uint32 // the transaction of the last offer
	staged         uint32 // the last transaction that was to write, in whatever order
	offered, acked uint8  // slots
	pending        bool   // the last offer is not settled yet
}

// single is a group of one series, which lies behind it.
type single struct {
	Group
	record [1]Record
}

// newGroup returns the records of label sets that nobody knows yet.
func newGroup(sets []labels.Labels, owner *Target) *Group {
	var g *Group
	if len(sets) == 1 {
		one := new(single)
		g = &one.Group
		g.records = one.record[:]
	} else {
		g = &Group{records: make([]Record, len(sets))}
	}
	g.Owner = owner
	g.ms = [2]int64{math.MinInt64, math.MinInt64}
	for i := range g.records {
		r := &g.records[i]
		r.Labels, r.lead = sets[i], i == 0
		r.group.Store(g)
	}
	return g
}

// Len returns how many series there are.
func (g *Group) Len() int { return len(g.records) }

// Record returns series i.
func (g *Group) Record(i int) *Record { return &g.records[i] }

// Whole reports whether the group's marks are those of all its series.
func (g *Group) Whole() bool { return !g.split }

// Newer reports whether a sample at ms is newer than all that was offered.
func (g *Group) Newer(ms int64) bool { return ms > g.ms[g.offered] }

// Open reports whether samples at ms are Fresh for transaction txn whatever their
// values are, as far as the marks tell.
func (g *Group) Open(ms int64, txn uint32) bool {
	offeredMs := g.ms[g.offered]
	return ms > offeredMs || ms < offeredMs && ms != g.AckedMs() && g.staged != txn && g.txn != txn
}

// StagedIn reports whether transaction txn was the last to offer samples, also
// such that are older than others.
func (g *Group) StagedIn(txn uint32) bool { return g.staged == txn }

// Verdict is what becomes of a sample.
type Verdict uint8

const (
	// Fresh samples go to the backend.
	Fresh Verdict = iota
	// Same samples repeat one of this very request: one is enough.
	Same
	// Repeated samples were acknowledged before: a client's retry. They are
	// accepted and not sent again.
	Repeated
	// Conflict samples carry another value for a time that has one.
	Conflict
	// Late samples are older than one that this request holds already.
	Late
)

// Check judges a sample of series i at ms with the given value bits for
// transaction txn, without changing anything.
func (g *Group) Check(i int, ms int64, bits uint64, txn uint32) Verdict {
	offeredMs := g.ms[g.offered]
	if ms > offeredMs {
		return Fresh
	}
	r := &g.records[i]
	if ms == g.AckedMs() {
		if bits == r.bits[g.acked] {
			return Repeated
		}
		return Conflict
	}
	mine := g.txn == txn && g.pending
	switch {
	case ms < offeredMs && mine:
		return Late
	case ms < offeredMs:
		// Older than acknowledged, or between two requests in flight: the
		// backend decides.
		return Fresh
	case bits == r.bits[g.offered] && mine:
		return Same
	case bits == r.bits[g.offered]:
		// A retry of what is in flight or was lost: only its own commit tells.
		return Fresh
	case g.pending:
		return Conflict
	}
	return Fresh
}

// Disturbed reports whether samples that were judged Fresh, v being the first
// series', cannot have come from the writer of those before: their cumulative
// series started earlier than the last one seen, so that start times alternate,
// or the value fell although the start is the same. Two processes that write
// one series look so (data model, "Single-Writer"). Without monotonic only
// starts are compared.
func (g *Group) Disturbed(startMs, ms int64, v float64, monotonic bool) bool {
	before := g.startMs
	if startMs == 0 || before == 0 || !g.Newer(ms) {
		return false
	}
	return startMs < before || startMs == before && monotonic && v < math.Float64frombits(g.records[0].bits[g.offered])
}

// Started notes the start timestamp of the samples that are offered next, 0 for
// none.
func (g *Group) Started(startMs int64) {
	if startMs != 0 {
		g.startMs = startMs
	}
}

// Offer notes that samples go to the backend, one per series, given by the bits
// of their values. The group is whole.
func (g *Group) Offer(ms int64, values []uint64, txn uint32) {
	g.staged = txn
	if ms < g.ms[g.offered] {
		return
	}
	if g.offered == g.acked {
		g.offered ^= 1
	}
	slot := g.offered
	for i := range g.records {
		g.records[i].bits[slot&1] = values[i]
	}
	g.ms[slot], g.txn, g.pending = ms, txn, true
}

// Settle notes the outcome of samples that were offered with the same
// arguments. The group need not be whole any more.
func (g *Group) Settle(ms int64, values []uint64, txn uint32, acknowledged bool) {
	if g.split {
		for i := range g.records {
			g.records[i].Alone().Settle(ms, values[i:i+1], txn, acknowledged)
		}
		return
	}
	last := g.txn == txn && ms == g.ms[g.offered]
	if last {
		g.pending = false
	}
	if !acknowledged || ms < g.AckedMs() {
		return
	}
	if last {
		g.acked = g.offered
		return
	}
	for i := range g.records {
		g.records[i].bits[g.acked&1] = values[i]
	}
	g.ms[g.acked] = ms
}

// AckedMs returns the time of the newest acknowledged samples, or the smallest
// int64.
func (g *Group) AckedMs() int64 { return g.ms[g.acked] }

// OfferedMs returns the time of the newest offered samples, or the smallest
// int64.
func (g *Group) OfferedMs() int64 { return g.ms[g.offered] }

// Ended reports whether the first series' newest acknowledged sample is the
// stale marker.
func (g *Group) Ended() bool {
	return g.AckedMs() != math.MinInt64 && g.records[0].bits[g.acked] == value.StaleNaN
}
