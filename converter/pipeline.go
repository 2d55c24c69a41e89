package converter

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/otlptranslator"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/pool"
	"github.com/otlpgw/otlpgw/storage"
)

// Pipeline takes OTLP requests to a backend. It is safe for concurrent use.
type Pipeline struct {
	opts       *settings
	cache      *series.Cache[*sender]
	converters *pool.Pool[*converter]
	txn        atomic.Uint32
}

// settings are the options and what follows from them.
type settings struct {
	Options
	metrics     *metrics
	conflicts   *conflicts
	rejected    rejectLog
	families    *families
	budget      *series.Budget
	forget      func([]promstorage.SeriesRef)
	metricNamer otlptranslator.MetricNamer
	labelNamer  otlptranslator.LabelNamer
	escape      bool
	infoName    string
	infoFamily  family
	usePeer     bool // a sender's address is part of its identity
	maxFutureMs int64
	maxAgeMs    int64
}

// defaultMaxFuture is how far ahead a sender's clock may be.
const defaultMaxFuture = 10 * time.Minute

// New returns a Pipeline. What needs time of its own is done by
// [Pipeline.Run].
func New(o Options) (*Pipeline, error) {
	if o.Backend == nil {
		return nil, errors.New("converter: Options.Backend is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limits.MaxFuture == 0 {
		o.Limits.MaxFuture = defaultMaxFuture
	}
	if o.Names.Strategy == "" {
		o.Names.Strategy = otlptranslator.UnderscoreEscapingWithSuffixes
	}
	s := &settings{
		Options:     o,
		metrics:     newMetrics(o.Registerer),
		conflicts:   newConflicts(o.Logger),
		rejected:    rejectLog{logger: o.Logger},
		families:    newFamilies(),
		escape:      o.Names.Strategy.ShouldEscape(),
		metricNamer: otlptranslator.NewMetricNamer(o.Names.Namespace, o.Names.Strategy),
		infoName:    "target_info",
		usePeer:     slices.Contains(o.InstanceFrom, peerIP),
		maxFutureMs: o.Limits.MaxFuture.Milliseconds(),
		maxAgeMs:    o.Limits.MaxSampleAge.Milliseconds(),
	}
	s.labelNamer = otlptranslator.LabelNamer{
		UTF8Allowed: !s.escape,
		//nolint:staticcheck // Deprecated, and what Prometheus's default still uses.
		UnderscoreLabelSanitization: !o.Labels.KeepLeadingUnderscore,
		PreserveMultipleUnderscores: !o.Labels.CollapseUnderscores,
	}
	if o.Names.Namespace != "" {
		s.infoName = o.Names.Namespace + "_" + s.infoName
	}
	s.infoFamily = infoFamily(s.infoName)
	if f, ok := o.Backend.(storage.Forgetter); ok {
		s.forget = f.Forget
	}
	o.Cache.CountPerMetric = o.Limits.MaxSeriesPerMetric > 0
	p := &Pipeline{opts: s, cache: series.New[*sender](o.Cache, o.Now, s.forget)}
	p.cache.Register(o.Registerer)
	s.budget = &p.cache.Budget
	p.converters = pool.New(func() *converter { return newConverter(s) }, (*converter).reset)
	return p, nil
}

// Run ages out what the cache no longer needs, until ctx ends.
func (p *Pipeline) Run(ctx context.Context) { p.cache.Run(ctx) }

// Conflicts returns what senders disagree on, newest first.
func (p *Pipeline) Conflicts() []Conflict { return p.opts.conflicts.list() }

// Push converts one request, appends it to the backend and commits. It returns
// when the backend has answered, ctx bounding the wait. The error is a
// [*DecodeError] for a body that is no OTLP, a [*storage.Error] when nothing
// was stored and the client should retry, and anything else for a bug of ours.
func (p *Pipeline) Push(ctx context.Context, req Request) (Report, error) {
	slot := slot{req.Converted}
	defer slot.release()

	body := req.Body
	if req.JSON {
		buf := pool.GetBuffer(len(body))
		defer buf.Release()
		out, err := otlp.AppendJSON(buf.B, body)
		buf.B = out
		if err != nil {
			return Report{}, jsonError(err)
		}
		body = out
	}

	if req.ResourceTenants != nil {
		return p.pushShares(ctx, req, body, &slot)
	}
	c := p.begin(ctx, req, body, req.Tenant)
	settled := false
	defer func() {
		if !settled { // A panic is on its way: nothing of it is kept.
			c.unhold()
			_ = c.app.Rollback()
			c.settle(false)
		}
	}()
	report, err := p.transact(c, &slot)
	settled = true
	p.end(c)
	return report, err
}

// begin returns a converter with a transaction of a tenant.
func (p *Pipeline) begin(ctx context.Context, req Request, body []byte, tenant string) *converter {
	c := p.checkOut()
	app := p.opts.Backend.AppenderV2(storage.WithTenant(ctx, tenant))
	now := p.opts.Now()
	c.begin(body, app, p.cache.Tenant(tenant), p.txn.Add(1), p.cache.EpochAt(now), now.UnixMilli())
	if p.opts.usePeer {
		c.peer = hostOf(req.Peer)
	}
	return c
}

// end gives back a converter whose transaction is settled.
func (p *Pipeline) end(c *converter) {
	c.forgetLoose()
	p.cache.Count(c.hits, c.misses)
	p.checkIn(c)
}

// checkIn makes a converter available to others.
func (p *Pipeline) checkIn(c *converter) {
	if !p.opts.Unpooled {
		p.converters.Put(c)
	}
}

// checkOut returns a converter of which nothing remembers a request.
func (p *Pipeline) checkOut() *converter {
	if p.opts.Unpooled {
		return newConverter(p.opts)
	}
	return p.converters.Get()
}

// transact runs the transaction that was begun to its end: when it returns,
// the appender is settled, the marks are moved, and nothing is locked.
func (p *Pipeline) transact(c *converter, slot *slot) (Report, error) {
	if fault := c.walk(); fault != nil {
		c.unhold()
		return Report{}, p.rollback(c, c.decodeError(fault))
	}
	if err := c.append(); err != nil {
		return Report{}, p.rollback(c, unavailable(err))
	}
	slot.release()
	if err := p.commit(c); err != nil {
		return Report{}, err
	}
	p.count(c)
	return c.report.result(), nil
}

// commit settles a transaction of which everything was appended.
func (p *Pipeline) commit(c *converter) error {
	if len(c.staged) == 0 {
		// All points were rejected, or acknowledged before.
		return p.rollback(c, nil)
	}
	if err := c.app.Commit(); err != nil {
		var e *storage.Error
		if !errors.As(err, &e) || e.Kind != storage.KindRefused {
			c.settle(false)
			return unavailable(err)
		}
		c.refuseFarEnd(e.Refused)
	}
	c.settle(true)
	return nil
}

// rollback undoes the transaction and returns why, or the store's own error.
func (p *Pipeline) rollback(c *converter, why error) error {
	err := c.app.Rollback()
	c.settle(false)
	if why == nil && err != nil {
		return unavailable(err)
	}
	if err != nil {
		p.opts.Logger.Error("rollback failed", "err", err)
	}
	return why
}

// count tells the metrics and the log what became of a transaction.
func (p *Pipeline) count(c *converter) {
	p.opts.metrics.count(&c.report, c.repeated)
	p.opts.rejected.tell(&c.report, c.tenant.Name, c.nowMs)
}

// unavailable makes an error of the backend one that the client retries.
func unavailable(err error) error {
	var e *storage.Error
	if errors.As(err, &e) {
		return e
	}
	return storage.Unavailable(err, 0)
}

// jsonError places a fault of a JSON document.
func jsonError(err error) error {
	var e *otlp.JSONError
	if errors.As(err, &e) {
		return &DecodeError{Offset: e.Offset, Path: e.Path, Msg: e.Msg}
	}
	return err
}

// slot is the conversion slot of a request, given back once.
type slot struct{ give func() }

func (s *slot) release() {
	if s.give != nil {
		give := s.give
		s.give = nil
		give()
	}
}
