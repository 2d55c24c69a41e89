package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// store is one opening of the TSDB.
type store struct {
	db  *tsdb.DB
	reg *registry
	// mark is added to the inner refs of this opening.
	mark promstorage.SeriesRef

	// served is set by the first commit that succeeds.
	served atomic.Bool

	// Guarded by Backend.mu.
	users   int
	retired bool
	idle    chan struct{} // Closed when retired and without users.
}

// openingBits is where a ref carries the number of the opening. The head's own
// refs have 40 bits.
const openingBits = 48

// maxOpenings is how many openings refs can tell apart.
const maxOpenings = 1 << (64 - openingBits)

func openStore(o Options, opening uint64) (*store, error) {
	st := &store{
		reg:  &registry{outer: o.Registerer},
		idle: make(chan struct{}),
		mark: promstorage.SeriesRef(opening << openingBits),
	}
	var err error
	st.db, err = tsdb.Open(o.Dir, o.Logger.With("component", "tsdb"), st.reg, o.tsdb(), nil)
	if err != nil {
		st.reg.clear()
		return nil, err
	}
	if err := st.reg.check(); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

func (s *store) close() error {
	err := s.db.Close()
	s.reg.clear()
	return err
}

// wait returns true when nobody uses the retired store, and false when ctx
// ends before that.
func (s *store) wait(ctx context.Context) bool {
	select {
	case <-s.idle: // Also if ctx has ended.
		return true
	default:
	}
	select {
	case <-s.idle:
		return true
	case <-ctx.Done():
		return false
	}
}

// inner returns the TSDB's ref, or 0 if ref is not of this opening.
func (s *store) inner(ref promstorage.SeriesRef) promstorage.SeriesRef {
	if ref>>openingBits != s.mark>>openingBits {
		return 0
	}
	return ref - s.mark
}

// fail makes the backend unavailable because of err and starts to open it
// again. Later calls for the same opening do nothing.
func (b *Backend) fail(st *store, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.broken != nil || b.store != st {
		return
	}
	b.setBroken(err)
	b.retire()
	if st.served.Load() {
		b.backoff = b.opts.backoff
	}
	b.logger.Error("Write failed; no samples are taken until the store is open again", "dir", b.opts.Dir, "err", err)
	ctx, cancel := context.WithCancel(context.Background())
	stop := b.stop
	b.stop = func() { stop(); cancel() }
	b.stopped.Go(func() { b.reopen(ctx, st) })
}

// setBroken moves between available (nil) and not. The caller holds mu.
func (b *Backend) setBroken(err error) {
	b.broken = err
	if err != nil {
		b.metrics.available.Set(0)
	} else {
		b.metrics.available.Set(1)
	}
	if b.opts.onState != nil {
		b.opts.onState(err)
	}
}

// reopen closes st once nobody uses it, and opens the store again when the
// disk takes data. The TSDB leaves an open file and a goroutine behind when it
// cannot write the end of its log; the growing wait bounds how many.
func (b *Backend) reopen(ctx context.Context, st *store) {
	st.wait(ctx) // Close waits for nobody any more either.
	if err := st.close(); err != nil {
		b.logger.Warn("Closing the failed store", "err", err)
	}
	b.mu.Lock()
	b.store = nil
	b.opening++
	opening, wait := b.opening, b.backoff
	b.mu.Unlock()
	if opening >= maxOpenings {
		b.logger.Error("The local store failed too often; restart the process")
		return
	}

	for ; ; wait = min(2*wait, maxBackoff) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		next, err := b.tryOpen(opening)
		if err != nil {
			b.logger.Warn("The store cannot be opened yet", "dir", b.opts.Dir, "err", err, "retry_after", min(2*wait, maxBackoff))
			continue
		}
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			if err := next.close(); err != nil {
				b.logger.Warn("Closing the store", "err", err)
			}
			return
		}
		b.store = next
		b.backoff = min(2*wait, maxBackoff)
		b.metrics.reopenings.Inc()
		b.setBroken(nil)
		b.mu.Unlock()
		b.logger.Info("The store is open again", "dir", b.opts.Dir)
		return
	}
}

// probeSize is what the disk must take before the store is opened again. A
// full disk takes an empty log file, and fails the first commit.
const probeSize = 1 << 20

func (b *Backend) tryOpen(opening uint64) (*store, error) {
	probe := filepath.Join(b.opts.Dir, "probe.tmp")
	err := os.WriteFile(probe, make([]byte, probeSize), 0o600)
	if removeErr := os.Remove(probe); err == nil {
		err = removeErr
	}
	if err != nil {
		return nil, fmt.Errorf("the disk takes no data: %w", err)
	}
	return openStore(b.opts, opening)
}
