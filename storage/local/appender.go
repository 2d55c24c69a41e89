package local

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/otlpgw/otlpgw/storage"
)

// appender is one transaction. Its TSDB appender is opened by the first Append,
// which knows a time to start an empty head with.
type appender struct {
	b   *Backend
	ctx context.Context

	st     *store
	inner  promstorage.AppenderV2
	refs   promstorage.GetRef
	oldest int64 // ms; older samples are refused.

	points  []point
	meta    []family
	settled bool
}

var errSettled = errors.New("the transaction is already settled")

// Append checks what the TSDB would find out in Commit only, see the package's
// comment, and passes the sample on.
func (a *appender) Append(ref promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if a.settled {
		return 0, errSettled
	}
	if a.inner == nil {
		if err := a.begin(t); err != nil {
			return 0, err
		}
	}
	if t < a.oldest {
		a.b.metrics.tooOld.Inc()
		return 0, a.b.errTooOld
	}
	s := sample{ls, st, t, valueOf(v, h, fh), v, opts}
	inner, err := a.place(a.st.inner(ref), &s)
	if err != nil {
		return 0, a.refused(err)
	}
	if !opts.Metadata.IsEmpty() {
		a.meta = a.b.meta.note(a.meta, ls, opts)
	}
	return inner + a.st.mark, nil
}

// sample is the rest of Append's arguments.
type sample struct {
	ls    labels.Labels
	st, t int64
	value sampleValue
	v     float64
	opts  promstorage.AppendV2Options
}

func (a *appender) refused(err error) error {
	if errors.Is(err, promstorage.ErrDuplicateSampleForTimestamp) {
		a.b.metrics.conflicts.Inc()
	}
	return err
}

// begin opens the TSDB's appender and the window of this transaction, for a
// first sample at time t.
func (a *appender) begin(t int64) error {
	st, err := a.b.acquire(true)
	if err != nil {
		return err
	}
	head := st.db.Head()
	if head.MaxTime() == math.MinInt64 {
		a.b.initHead(st.db, t)
	}
	a.st = st
	a.inner = st.db.AppenderV2(a.ctx)
	a.refs = a.inner.(promstorage.GetRef)
	// Read after the TSDB read it: this window is never the wider one, so what
	// it lets through is either in order or inside the TSDB's at Commit.
	a.oldest = math.MinInt64
	if newest := head.MaxTime(); newest > math.MinInt64+a.b.window {
		a.oldest = newest - a.b.window
	}
	return nil
}

// initHead sets the time of an empty head. The TSDB does so at the first
// append, with an appender whose window starts only then; this way all
// appenders are alike. An append without labels sets the time and fails.
func (b *Backend) initHead(db *tsdb.DB, t int64) {
	b.create.Lock()
	defer b.create.Unlock()
	app := db.AppenderV2(context.Background())
	_, _ = app.Append(0, labels.EmptyLabels(), 0, t, 0, nil, nil, promstorage.AppendV2Options{})
	_ = app.Rollback() // Nothing was appended.
}

// place puts the sample into the table of samples in flight and into the
// TSDB's appender, and returns the inner ref.
func (a *appender) place(ref promstorage.SeriesRef, s *sample) (promstorage.SeriesRef, error) {
	if ref == 0 {
		ref, _ = a.refs.GetRef(s.ls, s.ls.Hash())
	}
	if ref == 0 {
		a.b.create.Lock()
		defer a.b.create.Unlock()
		if ref, _ = a.refs.GetRef(s.ls, s.ls.Hash()); ref == 0 {
			return a.placeNew(s)
		}
	}

	p := point{ref, s.t}
	if !a.b.flying.enter(p, s.value) {
		return 0, promstorage.ErrDuplicateSampleForTimestamp
	}
	got, err := a.append(ref, s)
	if err != nil || got != ref {
		a.b.flying.leave(p)
	}
	if err != nil {
		return 0, err
	}
	if got != ref {
		// The series was dropped from memory and has come back under a new ref.
		return a.hold(got, s)
	}
	a.points = append(a.points, p)
	return got, nil
}

// placeNew appends the first sample of a series. No other transaction can hold
// one: the caller holds the lock.
//
// The series is created, and logged, in a transaction of its own that is rolled
// back: the TSDB logs new series then too. Otherwise another transaction could
// find the series and commit before the one that created it, and its samples,
// logged before their series, would be lost by a restart.
func (a *appender) placeNew(s *sample) (promstorage.SeriesRef, error) {
	creator := a.st.db.AppenderV2(a.ctx)
	ref, err := creator.Append(0, s.ls, 0, s.t, s.v, s.value.h, s.value.fh, promstorage.AppendV2Options{})
	if rolledBack := creator.Rollback(); rolledBack != nil {
		a.b.fail(a.st, rolledBack)
		return 0, storage.Unavailable(fmt.Errorf("logging a new series: %w", rolledBack), 0)
	}
	if err != nil {
		return 0, err
	}
	if ref, err = a.append(ref, s); err != nil {
		return 0, err
	}
	return a.hold(ref, s)
}

// hold puts a sample into the table that the TSDB's appender already has.
func (a *appender) hold(ref promstorage.SeriesRef, s *sample) (promstorage.SeriesRef, error) {
	p := point{ref, s.t}
	if !a.b.flying.enter(p, s.value) {
		return 0, storage.Unavailable(fmt.Errorf("two samples of a series that was created meanwhile: %s at %d", s.ls, s.t), 0)
	}
	a.points = append(a.points, p)
	return ref, nil
}

// append passes the sample to the TSDB, and looks at what is stored if it is
// a late one.
func (a *appender) append(ref promstorage.SeriesRef, s *sample) (promstorage.SeriesRef, error) {
	opts := s.opts
	opts.RejectOutOfOrder = true
	got, err := a.inner.Append(ref, s.ls, s.st, s.t, s.v, s.value.h, s.value.fh, opts)
	if errors.Is(err, promstorage.ErrOutOfOrderSample) && !s.opts.RejectOutOfOrder {
		var have sampleValue
		var found bool
		if have, found, err = stored(a.ctx, a.st.db, s.ls, s.t); err != nil {
			return 0, storage.Unavailable(err, 0)
		}
		switch {
		case !found:
			got, err = a.inner.Append(ref, s.ls, s.st, s.t, s.v, s.value.h, s.value.fh, s.opts)
		case !have.equal(s.value):
			return 0, promstorage.ErrDuplicateSampleForTimestamp
		default:
			// A retry of what is stored. The series exists, or it could not be late.
			got, _ = a.refs.GetRef(s.ls, s.ls.Hash())
			return got, nil
		}
	}
	if err == nil {
		return got, nil
	}
	if partial, ok := errors.AsType[*promstorage.AppendPartialError](err); ok {
		// The sample is in. Exemplars are best effort.
		a.b.metrics.exemplars.Add(float64(len(partial.ExemplarErrors)))
		return got, nil
	}
	return 0, err
}

// Commit stores the samples: it returns nil when they are in the head and its
// log.
func (a *appender) Commit() error {
	if a.settled {
		return errSettled
	}
	if a.inner == nil {
		a.settled = true
		return nil
	}
	if err := context.Cause(a.ctx); err != nil {
		_ = a.Rollback() // It cannot fail in a way that matters: nothing is stored.
		return storage.Unavailable(fmt.Errorf("not committed in time: %w", err), 0)
	}
	a.b.commit.Lock()
	err := a.inner.Commit()
	a.b.commit.Unlock()
	if err == nil && a.st.reg.writesFailed() {
		// This or another transaction's; what was logged after it may be lost.
		err = errors.New("a write to the log failed")
	}
	if err != nil {
		a.b.fail(a.st, err)
		a.settle()
		return storage.Unavailable(fmt.Errorf("commit to the local store in %s: %w", a.b.opts.Dir, err), 0)
	}
	if !a.st.served.Load() {
		a.st.served.Store(true)
	}
	a.b.meta.set(a.meta)
	a.settle()
	return nil
}

// Rollback drops the samples. Series that they created stay in the head,
// without samples, until it is next compacted.
func (a *appender) Rollback() error {
	if a.settled {
		return errSettled
	}
	if a.inner == nil {
		a.settled = true
		return nil
	}
	err := a.inner.Rollback()
	if err != nil {
		// Rolling back writes the created series to the log.
		a.b.fail(a.st, err)
		err = storage.Unavailable(fmt.Errorf("roll back in the local store in %s: %w", a.b.opts.Dir, err), 0)
	}
	a.settle()
	return err
}

func (a *appender) settle() {
	a.settled = true
	for _, p := range a.points {
		a.b.flying.leave(p)
	}
	a.b.release(a.st)
	a.st, a.inner, a.refs, a.points, a.meta = nil, nil, nil, nil, nil
}
