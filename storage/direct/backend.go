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
	o       Options
	group   *remotewrite.Group
	table   *remotewrite.Table
	tenants tenants
	desks   []*desk // by destination
	parts   *pool.Pool[*part]
	pending atomic.Int64 // bytes that parts hold

	closed atomic.Bool
	open   sync.WaitGroup  // places in lines
	openMu sync.RWMutex    // held for reading to add to open
	inLine atomic.Int64    // how many
	ctx    context.Context // ended by giveUp
	giveUp context.CancelFunc
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
	if o.Lines <= 0 {
		o.Lines = DefaultLines
	}
	if o.MaxPendingBytes <= 0 {
		o.MaxPendingBytes = DefaultMaxPendingBytes
	}
	if o.MaxTenantBytes <= 0 || o.MaxTenantBytes > o.MaxPendingBytes {
		o.MaxTenantBytes = o.MaxPendingBytes
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
	b := &Backend{o: o, group: group, table: group.Table(), tenants: tenants{name: o.TenantOf}, ctx: ctx, giveUp: cancel}
	b.parts = pool.New(func() *part { return &part{places: make([]place, len(group.Destinations()))} }, (*part).reset)
	for i, d := range group.Destinations() {
		k := newDesk(b, i, d, o.Lines)
		d.OnOldest(k.oldest)
		b.desks = append(b.desks, k)
	}
	return b, nil
}

// AppenderV2 opens a transaction. A deadline of ctx bounds its Commit; a client
// that goes away cancels nothing that was committed.
func (b *Backend) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return &appender{b: b, ctx: ctx, tenant: b.tenants.of(ctx)}
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
	for _, d := range b.desks {
		d.close()
	}
	b.group.Close()
	return err
}

// Forget drops what is kept for refs.
func (b *Backend) Forget(refs []promstorage.SeriesRef) { b.table.Forget(refs) }

// busyAfter is how long clients are told to wait when memory is short: it is
// given back with the next answers of far ends.
const busyAfter = time.Second

// reserve takes n bytes of what may be pending, of all and of the tenant.
func (b *Backend) reserve(t *tenant, n int64) error {
	if held := t.pending.Add(n); held > b.o.MaxTenantBytes {
		t.pending.Add(-n)
		return storage.Unavailable(fmt.Errorf("direct: %d bytes of the tenant's samples wait for their destinations, the limit is %d (direct.max_tenant_bytes)", held-n, b.o.MaxTenantBytes), busyAfter)
	}
	for {
		held := b.pending.Load()
		if held+n > b.o.MaxPendingBytes {
			t.pending.Add(-n)
			return storage.Unavailable(fmt.Errorf("direct: %d bytes of samples wait for their destinations, the limit is %d (direct.max_pending_bytes)", held, b.o.MaxPendingBytes), busyAfter)
		}
		if b.pending.CompareAndSwap(held, held+n) {
			return nil
		}
	}
}

// limitName is the setting that bounds one transaction.
func (b *Backend) limitName() string {
	if b.o.MaxTenantBytes < b.o.MaxPendingBytes {
		return "direct.max_tenant_bytes"
	}
	return "direct.max_pending_bytes"
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
