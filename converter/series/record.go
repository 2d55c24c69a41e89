package series

import (
	"math"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
)

// Record is one series of one backend and tenant. Its marks are guarded by the
// lock of Owner, whichever target's stream is being converted; labels and owner
// never change.
//
// Two marks: offered advances when a sample is converted and is never taken
// back; acknowledged advances when a Commit that held the sample returned nil.
// Late and duplicate samples are judged by what is acknowledged, so that what a
// failed commit lost is taken again; order among requests in flight looks at
// what is offered.
type Record struct {
	Labels labels.Labels
	Owner  *Target

	ref    atomic.Uint64
	shared atomic.Bool // more than one entry has held it at a time

	offeredMs, ackedMs     int64
	offeredBits, ackedBits uint64
	startMs                int64 // start timestamp of the last offer, 0 for none

	txn     uint32 // the transaction of the last offer
	holders uint16 // entries that translate to this series
	pending bool   // the last offer is not settled yet
}

// recordCost is what a record costs beyond its labels, in bytes: the record
// and its slot in [Records].
const recordCost = 88 + 24

func newRecord(ls labels.Labels, owner *Target) *Record {
	return &Record{Labels: ls, Owner: owner, offeredMs: math.MinInt64, ackedMs: math.MinInt64}
}

// Ref returns the backend's ref for the series, 0 when it has none yet.
func (r *Record) Ref() storage.SeriesRef { return storage.SeriesRef(r.ref.Load()) }

// SetRef keeps the ref that the backend returned.
func (r *Record) SetRef(ref storage.SeriesRef) { r.ref.Store(uint64(ref)) }

// Shared reports whether different streams translate to the series.
func (r *Record) Shared() bool { return r.shared.Load() }

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

// Check judges a sample at ms with the given value bits for transaction txn,
// without changing anything.
func (r *Record) Check(ms int64, bits uint64, txn uint32) Verdict {
	if ms > r.offeredMs {
		return Fresh
	}
	if ms == r.ackedMs {
		if bits == r.ackedBits {
			return Repeated
		}
		return Conflict
	}
	mine := r.txn == txn && r.pending
	switch {
	case ms < r.offeredMs && mine:
		return Late
	case ms < r.offeredMs:
		// Older than acknowledged, or between two requests in flight: the
		// backend decides.
		return Fresh
	case bits == r.offeredBits && mine:
		return Same
	case bits == r.offeredBits:
		// A retry of what is in flight or was lost: only its own commit tells.
		return Fresh
	case r.pending:
		return Conflict
	}
	return Fresh
}

// Disturbed reports whether a sample that was judged Fresh cannot have come
// from the writer of the one before: its cumulative series started earlier
// than the last one seen, so that start times alternate, or its value fell
// although the start is the same. Two processes that write one series look so
// (data model, "Single-Writer"). Without monotonic only starts are compared.
func (r *Record) Disturbed(startMs, ms int64, v float64, monotonic bool) bool {
	before := r.startMs
	if startMs == 0 || before == 0 || ms <= r.offeredMs {
		return false
	}
	return startMs < before || startMs == before && monotonic && v < math.Float64frombits(r.offeredBits)
}

// Started notes the start timestamp of the sample that is offered next, 0 for
// none.
func (r *Record) Started(startMs int64) {
	if startMs != 0 {
		r.startMs = startMs
	}
}

// Offer notes that a sample goes to the backend.
func (r *Record) Offer(ms int64, bits uint64, txn uint32) {
	if ms < r.offeredMs {
		return
	}
	r.offeredMs, r.offeredBits, r.txn, r.pending = ms, bits, txn, true
}

// Settle notes the outcome of an offered sample.
func (r *Record) Settle(ms int64, bits uint64, txn uint32, acknowledged bool) {
	if r.txn == txn && ms == r.offeredMs {
		r.pending = false
	}
	if acknowledged && ms >= r.ackedMs {
		r.ackedMs, r.ackedBits = ms, bits
	}
}

// AckedMs returns the time of the newest acknowledged sample, or the smallest
// int64.
func (r *Record) AckedMs() int64 { return r.ackedMs }

// Ended reports whether the newest acknowledged sample is the stale marker.
func (r *Record) Ended() bool { return r.ackedBits == value.StaleNaN && r.ackedMs != math.MinInt64 }

// OfferedIn reports whether transaction txn made the last offer.
func (r *Record) OfferedIn(txn uint32) bool { return r.txn == txn && r.pending }

// OfferedMs returns the time of the newest offered sample, or the smallest
// int64.
func (r *Record) OfferedMs() int64 { return r.offeredMs }
