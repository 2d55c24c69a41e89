package storage

import (
	"context"

	promstorage "github.com/prometheus/prometheus/storage"
)

// Backend keeps series. Implementations are safe for concurrent use; the
// appenders they hand out are not.
//
// The contract, which storagetest checks for every backend:
//
//   - Append returns a stable, non-zero ref for a label set. A ref belongs to
//     one backend instance, is never reused, and a ref the backend does not
//     know is looked up by labels.
//   - Append keeps the labels and the histogram it is given; it keeps neither
//     the exemplar slice nor MetricFamilyName.
//   - A refused sample is an error that [RefusalReason] recognises and leaves
//     the transaction usable. Any other error ends it: the caller rolls back.
//   - Commit returns nil only when every appended sample has reached what the
//     backend promises (durable on disk, accepted by the far end). Otherwise it
//     returns an [*Error]. After Commit or Rollback the appender is dead.
//   - Samples of one series whose appends happened one after the other, also in
//     different transactions, are kept whatever the order of the commits.
type Backend interface {
	// AppenderV2 opens a transaction. The context bounds its Commit.
	promstorage.AppendableV2

	// Ready returns nil when the backend can take samples. It says nothing
	// about far ends: an outage there must not take the gateway out.
	Ready() error

	// Close finishes what is in flight, bounded by ctx, and releases files.
	// Appenders must be settled before; later ones fail with KindUnavailable.
	Close(ctx context.Context) error
}

// TargetAppender is implemented by appenders that order by target. The
// converter calls Target with the hash of (tenant, job, instance) while it holds
// the target's lock and judges its samples: the transaction takes a place in
// that target's line, so that places follow the order in which samples were
// judged. It appends later, outside the lock, and says with At to which of the
// places the appends that follow belong. Without a call of At they belong to the
// last place taken. Calls may repeat and alternate, and a place may stay empty.
type TargetAppender interface {
	// Target takes a place behind everybody who took one for a target of the
	// same line, or returns the transaction's own if it is still the last.
	Target(hash uint64) (place int)
	// At directs the appends that follow to a place that Target returned.
	At(place int)
}

// Forgetter is implemented by backends that keep something per ref. The cache
// tells it which refs it dropped; a ref may come back and is then unknown. Two
// requests in flight that had no room for a series may both tell of its ref:
// one that is not known is ignored.
type Forgetter interface {
	Forget(refs []promstorage.SeriesRef)
}
