package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
)

// Backend keeps series in an embedded TSDB. It is safe for concurrent use.
type Backend struct {
	opts    Options
	logger  *slog.Logger
	metrics *metrics
	meta    *catalog
	flying  inflight
	window  int64 // ms

	errTooOld error

	// create serializes the appends that may create a series, so that two
	// transactions cannot both find it missing.
	create sync.Mutex

	// commit serializes commits. The TSDB writes a transaction to its log and
	// then to memory with nothing held across both: with the log in one order
	// and memory in the other, a sample that was in order in memory is late on
	// replay, is not in the log of late samples, and is lost by a restart.
	commit sync.Mutex

	mu      sync.Mutex
	store   *store // Nil between two openings.
	opening uint64
	backoff time.Duration // Before the next opening.
	broken  error
	closed  bool

	stop    context.CancelFunc
	stopped sync.WaitGroup
}

var (
	_ storage.Backend               = (*Backend)(nil)
	_ promstorage.Queryable         = (*Backend)(nil)
	_ promstorage.ExemplarQueryable = (*Backend)(nil)
)

var errClosed = errors.New("the local store is closed")

// Open opens the store in o.Dir, replays its log and starts its compactions.
// The caller closes it.
func Open(o Options) (*Backend, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Backend{
		opts:   o,
		logger: o.Logger.With("component", "local"),
		window: o.OutOfOrderTimeWindow.Milliseconds(),
		errTooOld: fmt.Errorf("older than the newest stored sample by more than storage.tsdb.out_of_order_time_window (%s): %w",
			o.OutOfOrderTimeWindow, promstorage.ErrTooOldSample),
	}
	st, err := openStore(o, 0)
	if err != nil {
		return nil, fmt.Errorf("open the local store in %s: %w", o.Dir, err)
	}
	b.store, b.backoff = st, o.backoff
	b.metrics = newMetrics(o.Registerer)
	b.metrics.available.Set(1)
	b.meta = openCatalog(o, b.logger, b.metrics)

	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.stopped.Go(func() { b.meta.run(ctx) })
	return b, nil
}

// AppenderV2 opens a transaction. TSDB commits do not wait for anything but
// the disk, so ctx is looked at once, when Commit begins.
func (b *Backend) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return &appender{b: b, ctx: ctx}
}

// Ready returns nil when the store takes samples.
func (b *Backend) Ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unavailable()
}

// unavailable returns why nothing can be appended, or nil. The caller holds mu.
func (b *Backend) unavailable() error {
	switch {
	case b.closed:
		return storage.Unavailable(errClosed, 0)
	case b.broken != nil:
		return storage.Unavailable(fmt.Errorf("the local store in %s is waiting for its disk: %w", b.opts.Dir, b.broken), 0)
	}
	return nil
}

// acquire returns the open store, which stays open until release.
func (b *Backend) acquire(write bool) (*store, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Reading goes on after a failed write, until the store is closed for it.
	if write || b.store == nil || b.store.retired {
		if err := b.unavailable(); err != nil {
			return nil, err
		}
	}
	b.store.users++
	return b.store, nil
}

func (b *Backend) release(st *store) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if st.users--; st.users == 0 && st.retired {
		close(st.idle)
	}
}

// retire lets nobody new use the store and returns it. The caller holds mu.
func (b *Backend) retire() *store {
	st := b.store
	st.retired = true
	if st.users == 0 {
		close(st.idle)
	}
	return st
}

// Metadata returns the latest metadata of the metric family, or of all if
// family is empty. The map is the caller's.
func (b *Backend) Metadata(family string) map[string]metadata.Metadata { return b.meta.get(family) }

// Close waits for the transactions and queries in flight, until ctx ends, and
// closes the store either way. Closing again does nothing.
func (b *Backend) Close(ctx context.Context) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	var st *store
	// A retired store is being closed by the goroutine that opens it again.
	if b.store != nil && !b.store.retired {
		st = b.retire()
	}
	b.mu.Unlock()

	b.stop()
	var errs []error
	if st != nil {
		if !st.wait(ctx) {
			errs = append(errs, fmt.Errorf("close the local store with transactions or queries in flight: %w", context.Cause(ctx)))
		}
		errs = append(errs, st.close())
	}
	b.stopped.Wait()
	errs = append(errs, b.meta.save())
	return errors.Join(errs...)
}

// maxBackoff is the longest wait between attempts to open the store again: a
// person who made room on the disk waits no longer.
const maxBackoff = 30 * time.Second
