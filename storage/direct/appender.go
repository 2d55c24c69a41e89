package direct

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// appender is one transaction.
type appender struct {
	b        *Backend
	ctx      context.Context
	tenant   *tenant
	parts    []*part // in the order of their places
	current  *part
	targeted bool
	appends  int
	reserved int64 // bytes, by all parts
	given    metadata.Metadata
	meta     *remotewrite.Metadata // that was made of given
	surplus  int                   // the last appends, which are more than may ever be pending
	settled  bool
}

var errSettled = errors.New("direct: the transaction is settled")

// Target takes a place in the target's line for the transaction.
// The caller holds the target's lock, so that places are taken in the order in
// which samples are judged.
func (a *appender) Target(hash uint64) int {
	if a.settled {
		return 0
	}
	a.targeted = true
	var place int
	a.current, place = a.part(int(hash % uint64(a.b.o.Lines)))
	return place
}

// At directs the appends that follow to a place.
func (a *appender) At(place int) {
	if a.settled || place < 0 || place >= len(a.parts) {
		return
	}
	a.current = a.parts[place]
}

// Append takes a sample. Without a target before it, the place is the one of
// the series. What far ends make of it is Commit's to tell: it refuses nothing.
func (a *appender) Append(ref promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if a.settled {
		return 0, errSettled
	}
	if a.b.closed.Load() {
		return 0, storage.Unavailable(errClosed, 0)
	}
	group := uint64(0)
	if a.current != nil {
		group = uint64(a.current.line)
	}
	series := a.b.table.Series(ref, ls, group)
	if !a.targeted {
		a.current, _ = a.part(int((series.Hash() ^ a.tenant.hash) % uint64(a.b.o.Lines)))
	}
	p := a.current
	if p == nil {
		return 0, storage.Unavailable(errClosed, 0)
	}
	if room, err := a.reserve(p, sizeOf(h, fh, opts.Exemplars)); err != nil {
		return 0, err
	} else if !room {
		a.surplus++
		a.appends++
		return series.Ref(a.b.table), nil
	}
	var meta *remotewrite.Metadata
	if !opts.Metadata.IsEmpty() {
		meta = a.metadata(series, &opts)
	}
	p.samples = append(p.samples, remotewrite.Sample{
		Series: series, Meta: meta, N: a.appends,
		T: t, ST: st, V: v, H: h, FH: fh, Exemplars: p.keep(opts.Exemplars),
	})
	a.appends++
	return series.Ref(a.b.table), nil
}

// metadata returns the series' metadata. The series of a metric come one after
// the other and with the same strings, which are not compared by their bytes;
// the family's name is the caller's and may have changed in place.
func (a *appender) metadata(s *remotewrite.Series, opts *promstorage.AppendV2Options) *remotewrite.Metadata {
	m := &opts.Metadata
	if a.meta == nil || m.Type != a.given.Type || !same(m.Help, a.given.Help) || !same(m.Unit, a.given.Unit) || opts.MetricFamilyName != a.meta.Family {
		a.given = *m
		a.meta = s.Metadata(*m, opts.MetricFamilyName)
	}
	return a.meta
}

func same(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// reserve makes room for n more bytes in p, and reports whether there is any:
// not for a transaction that has taken all that may ever be pending. Then the
// rest of it is refused.
func (a *appender) reserve(p *part, n int64) (room bool, err error) {
	if a.surplus > 0 {
		return false, nil
	}
	if more := p.used + n - p.reserved; more > 0 {
		more = (more + reserveStep - 1) / reserveStep * reserveStep
		if a.reserved+more > a.b.o.MaxTenantBytes {
			return false, nil
		}
		if err := a.b.reserve(a.tenant, more); err != nil {
			return false, err
		}
		p.reserved += more
		a.reserved += more
	}
	p.used += n
	return true, nil
}

// part returns the transaction's part in a line, and takes places for a new one
// if it has none there, or if others came behind it since: what they hold of
// the target is older than what the caller is about to judge. It returns nil
// once the backend is closed.
func (a *appender) part(line int) (p *part, place int) {
	b := a.b
	for i := len(a.parts) - 1; i >= 0; i-- {
		if p := a.parts[i]; p.line == line {
			if b.isLast(p) {
				return p, i
			}
			break
		}
	}
	b.openMu.RLock()
	defer b.openMu.RUnlock()
	if b.closed.Load() {
		return nil, -1
	}
	p = b.parts.Get()
	p.b, p.line, p.tenant = b, line, a.tenant
	p.holders.Store(1 + int32(len(p.places)))
	b.open.Add(len(p.places))
	b.inLine.Add(int64(len(p.places)))
	for i := range p.places {
		p.places[i].part = p
		b.desks[i].take(line, &p.places[i])
	}
	a.parts = append(a.parts, p)
	return p, len(a.parts) - 1
}

// isLast reports whether nobody has a place behind the part's.
func (b *Backend) isLast(p *part) bool {
	for i := range p.places {
		if !b.desks[i].isLast(p.line, &p.places[i]) {
			return false
		}
	}
	return true
}

// left is called when a place of the part is out of its line.
func (p *part) left() {
	b := p.b
	p.letGo()
	b.inLine.Add(-1)
	b.open.Done()
}

// leave gives up the places that are not being sent.
func (p *part) leave() {
	for i := range p.places {
		if p.b.desks[i].leave(p.line, &p.places[i]) {
			p.left()
		}
	}
}

// Rollback gives the places up.
func (a *appender) Rollback() error {
	if a.settled {
		return errSettled
	}
	a.abandon()
	return nil
}

// abandon settles the transaction and leaves the places that are not being sent.
func (a *appender) abandon() {
	for _, p := range a.parts {
		p.leave()
	}
	a.finish()
}

// finish settles the transaction. Its parts stay in line where they are.
func (a *appender) finish() {
	a.settled = true
	for _, p := range a.parts {
		p.letGo()
	}
	a.parts, a.current = nil, nil
}

// grace is how much longer Commit waits than the requests may take: the answer
// that comes at the deadline says more than that there was none.
const grace = 100 * time.Millisecond

// Commit seals the parts and waits for the required destinations to take them.
func (a *appender) Commit() error {
	if a.settled {
		return errSettled
	}
	if a.b.closed.Load() && a.appends > 0 {
		a.abandon()
		return storage.Unavailable(errClosed, 0)
	}
	timeout := a.b.o.AckTimeout
	if deadline, ok := a.ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	s := a.seal(timeout)
	timer := time.NewTimer(timeout + grace)
	defer timer.Stop()
	select {
	case <-s.done:
		err := a.result(s)
		a.finish()
		return err
	case <-timer.C:
		// What is being sent ends by the same deadline, whatever its outcome.
		a.remember(s)
		a.abandon()
		return storage.Unavailable(errors.New("direct: no answer from every destination within "+timeout.String()+" (--direct.ack-timeout, or the client's deadline)"), 0)
	}
}

// result returns the answer to the transaction, which is settled.
func (a *appender) result(s *settlement) error {
	err := s.result()
	switch {
	case err != nil && err.Kind != storage.KindRefused:
		a.remember(s)
		return err
	case a.surplus > 0:
		surplus := storage.Refusal{
			First: a.appends - a.surplus, Last: a.appends - 1, Count: a.surplus,
			Reason: fmt.Sprintf("direct: the request alone is more than %s (%d), it takes smaller ones", a.b.limitName(), a.b.o.MaxTenantBytes),
		}
		if err == nil {
			return &storage.Error{Kind: storage.KindRefused, Refused: []storage.Refusal{surplus}, Err: errors.New(surplus.Reason)}
		}
		err.Refused = append(err.Refused, surplus)
	case err == nil:
		return nil
	}
	return err
}

// remember tells the destinations that accepted parts of the transaction that
// the client sends them again, since others failed.
func (a *appender) remember(s *settlement) {
	s.end()
	for i, d := range a.b.desks {
		if !d.destination.Required() {
			continue
		}
		for _, p := range a.parts {
			if d.accepted(&p.places[i]) {
				d.destination.Remember(a.tenant.name, p.samples)
			}
		}
	}
}

// seal hands the parts to their lines and returns where their outcomes go.
func (a *appender) seal(timeout time.Duration) *settlement {
	b := a.b
	now := b.o.Clock.Now()
	waiting := 0
	for _, p := range a.parts {
		if len(p.samples) > 0 {
			waiting += b.required()
		}
	}
	s := newSettlement(waiting)
	if waiting == 0 {
		close(s.done)
	}
	// Half of the memory is for those that commits wait for.
	crowded := b.pending.Load() > b.o.MaxPendingBytes/2
	for _, p := range a.parts {
		if len(p.samples) == 0 {
			p.leave()
			continue
		}
		p.since, p.deadline, p.settlement = now, now.Add(timeout), s
		for i := range p.places {
			d := b.desks[i]
			if crowded && !d.destination.Required() {
				if d.leave(p.line, &p.places[i]) {
					d.destination.Lost(len(p.samples))
					p.left()
				}
				continue
			}
			d.seal(p.line, &p.places[i])
		}
	}
	return s
}
