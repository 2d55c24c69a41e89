package direct

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/pool"
	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// Backend sends what is committed to far ends. It is safe for concurrent use.
type Backend struct {
	o     Options
	group *remotewrite.Group
	table *remotewrite.Table
	// lines is indexed by destination, then by shard.
	lines   [][]*line
	parts   *pool.Pool[*part]
	pending atomic.Int64 // bytes that parts hold

	closed  atomic.Bool
	open    sync.WaitGroup // places in lines
	openMu  sync.RWMutex   // held for reading to add to open
	inLine  atomic.Int64   // how many
	giveUp  context.CancelFunc
	workers sync.WaitGroup
}

var (
	_ storage.Backend        = (*Backend)(nil)
	_ storage.Forgetter      = (*Backend)(nil)
	_ storage.TargetAppender = (*appender)(nil)
)

var errClosed = errors.New("direct: the gateway is shutting down")

// New returns a Backend; [Backend.Close] ends it.
func New(o Options) (*Backend, error) {
	if o.AckTimeout <= 0 {
		o.AckTimeout = DefaultAckTimeout
	}
	if o.Shards <= 0 {
		o.Shards = DefaultShards
	}
	if o.MaxPendingBytes <= 0 {
		o.MaxPendingBytes = DefaultMaxPendingBytes
	}
	if o.Clock == nil {
		o.Clock = remotewrite.WallClock{}
	}
	group, err := remotewrite.New(remotewrite.Options{
		Destinations:   o.Destinations,
		ExternalLabels: o.ExternalLabels,
		MaxSeries:      o.MaxSeries,
		Version:        o.Version,
		Logger:         o.Logger,
		Registerer:     o.Registerer,
		Clock:          o.Clock,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Backend{o: o, group: group, table: group.Table(), giveUp: cancel}
	b.parts = pool.New(func() *part { return &part{places: make([]place, len(group.Destinations()))} }, (*part).reset)
	for _, d := range group.Destinations() {
		shards := make([]*line, o.Shards)
		for i := range shards {
			shards[i] = newLine(d)
			b.workers.Go(func() { shards[i].run(ctx) })
		}
		d.OnOldest(func() time.Time { return oldest(shards) })
		b.lines = append(b.lines, shards)
	}
	return b, nil
}

// AppenderV2 opens a transaction. A deadline of ctx bounds its Commit; a client
// that goes away cancels nothing that was committed.
func (b *Backend) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return &appender{b: b, ctx: ctx}
}

// Ready returns nil until Close is called: far ends come and go, and clients
// are told by every answer.
func (b *Backend) Ready() error {
	if b.closed.Load() {
		return errClosed
	}
	return nil
}

// Close waits for what is being sent until ctx ends, then gives it up.
func (b *Backend) Close(ctx context.Context) error {
	b.openMu.Lock()
	b.closed.Store(true)
	b.openMu.Unlock()
	drained := make(chan struct{})
	go func() {
		b.open.Wait()
		close(drained)
	}()
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		if b.inLine.Load() == 0 {
			break
		}
		err = fmt.Errorf("direct: samples were still being sent: %w", ctx.Err())
	}
	b.giveUp()
	b.workers.Wait()
	b.group.Close()
	return err
}

// Forget drops what is kept for refs.
func (b *Backend) Forget(refs []promstorage.SeriesRef) { b.table.Forget(refs) }

// reserve takes n bytes of what may be pending.
func (b *Backend) reserve(n int64) error {
	if held := b.pending.Add(n); held > b.o.MaxPendingBytes {
		b.pending.Add(-n)
		return storage.Unavailable(fmt.Errorf("direct: %d bytes of samples wait for their destinations, the limit is %d", held-n, b.o.MaxPendingBytes), 0)
	}
	return nil
}

// required returns how many destinations a commit waits for.
func (b *Backend) required() int {
	n := 0
	for _, d := range b.group.Destinations() {
		if d.Required() {
			n++
		}
	}
	return n
}
