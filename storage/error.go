package storage

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	promstorage "github.com/prometheus/prometheus/storage"
)

// Kind says whose fault a failed transaction is, and so what the client does.
type Kind uint8

const (
	// KindUnavailable: busy, full, closing, a disk or a far end that is away or
	// misconfigured. The client retries (503, UNAVAILABLE).
	KindUnavailable Kind = iota + 1
	// KindThrottled: the far end's own 429, or a rate limit of ours. The client
	// retries later (429, RESOURCE_EXHAUSTED with RetryInfo).
	KindThrottled
	// KindRefused: some samples were refused for good, the others are stored.
	// Error.Refused says which. The client does not retry (partial success).
	KindRefused
)

// String returns the kind as it appears in logs.
func (k Kind) String() string {
	switch k {
	case KindUnavailable:
		return "unavailable"
	case KindThrottled:
		return "throttled"
	case KindRefused:
		return "refused"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is what Commit returns when not everything was stored. With
// KindUnavailable and KindThrottled nothing of the transaction counts as
// stored; with KindRefused everything outside Refused is.
type Error struct {
	Kind Kind
	// RetryAfter is when to try again; zero leaves it to the gateway.
	RetryAfter time.Duration
	// Refused lists what was refused, for KindRefused only, ascending and
	// without overlap.
	Refused []Refusal
	// Err says what happened, for people.
	Err error
}

// Refusal says that Count of the appends numbered First to Last, both
// included, were refused. The calls of Append that took their sample are
// numbered from 0 in the order of a transaction; those that lost an exemplar
// took it. A Count of less than the range means that the far end did not tell
// which ones.
type Refusal struct {
	First, Last int
	Count       int
	// Reason is for people: the destination and its answer, shortened.
	Reason string
}

// Error returns the kind and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Kind.String()
	}
	return e.Kind.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Unavailable returns an error of KindUnavailable.
func Unavailable(err error, retryAfter time.Duration) *Error {
	return &Error{Kind: KindUnavailable, RetryAfter: retryAfter, Err: err}
}

// RefusalReason returns the reason label under which a refused Append is
// counted, and whether err is a refusal of one sample at all. Other errors
// mean that the transaction cannot go on.
func RefusalReason(err error) (reason string, ok bool) {
	switch {
	case errors.Is(err, promstorage.ErrDuplicateSampleForTimestamp):
		return "conflict", true
	case errors.Is(err, promstorage.ErrTooOldSample), errors.Is(err, promstorage.ErrOutOfBounds):
		return "too_old", true
	case errors.Is(err, promstorage.ErrOutOfOrderSample):
		return "out_of_order", true
	}
	if invalid := (histogram.Error{}); errors.As(err, &invalid) {
		return "buckets", true
	}
	return "", false
}
