package storagetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
)

// Discard is a backend that keeps the refs of its series and nothing else, to
// measure what comes before a store. Its refs are stable and not zero, so that
// callers take the path that they take with a real store. Append with a known
// ref, opening a transaction and settling it allocate nothing.
//
// It is safe for concurrent use, and so are, other than a real store's, its
// transactions. It does not notice the use of a settled one.
type Discard struct {
	last   atomic.Uint64
	closed atomic.Bool
	mu     sync.Mutex
	byHash map[uint64]discardSeries
	// clash holds label sets whose hash is taken by another.
	clash map[string]promstorage.SeriesRef
}

type discardSeries struct {
	ls  labels.Labels
	ref promstorage.SeriesRef
}

type discardAppender Discard

var (
	_ storage.Backend        = (*Discard)(nil)
	_ storage.TargetAppender = (*discardAppender)(nil)
)

var errDiscardClosed = storage.Unavailable(errors.New("discard backend is closed"), 0)

// NewDiscard returns an empty Discard.
func NewDiscard() *Discard {
	return &Discard{byHash: map[uint64]discardSeries{}, clash: map[string]promstorage.SeriesRef{}}
}

// AppenderV2 opens a transaction.
func (d *Discard) AppenderV2(context.Context) promstorage.AppenderV2 { return (*discardAppender)(d) }

// Ready returns nil until Close.
func (d *Discard) Ready() error {
	if d.closed.Load() {
		return errDiscardClosed
	}
	return nil
}

// Close makes later appends and commits fail.
func (d *Discard) Close(context.Context) error {
	d.closed.Store(true)
	return nil
}

// Series returns how many series were seen.
func (d *Discard) Series() int { return int(d.last.Load()) }

// Target does nothing.
func (a *discardAppender) Target(uint64) int { return 0 }

// At does nothing.
func (a *discardAppender) At(int) {}

// Append returns the series' ref.
func (a *discardAppender) Append(ref promstorage.SeriesRef, ls labels.Labels, _, _ int64, _ float64, _ *histogram.Histogram, _ *histogram.FloatHistogram, _ promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if a.closed.Load() {
		return 0, errDiscardClosed
	}
	if ref != 0 && uint64(ref) <= a.last.Load() {
		return ref, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// The map first: once last has grown, the new ref passes above.
	hash := ls.Hash()
	ref = promstorage.SeriesRef(a.last.Load() + 1)
	s, taken := a.byHash[hash]
	switch {
	case !taken:
		a.byHash[hash] = discardSeries{ls, ref}
	case labels.Equal(s.ls, ls):
		return s.ref, nil
	default:
		key := string(ls.Bytes(nil))
		if known := a.clash[key]; known != 0 {
			return known, nil
		}
		a.clash[key] = ref
	}
	a.last.Store(uint64(ref))
	return ref, nil
}

// Commit returns nil until Close.
func (a *discardAppender) Commit() error {
	if a.closed.Load() {
		return errDiscardClosed
	}
	return nil
}

// Rollback does nothing.
func (a *discardAppender) Rollback() error { return nil }
