package remotewrite

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// recent remembers what a destination decided on in transactions that failed
// for another reason: another destination was away, or time ran out before the
// rest was sent. The client sends all of it again, and the destination need not
// be sent what it has, nor be asked again what it refused. So a request that is
// too much for one deadline makes progress from retry to retry. It is empty as
// long as nothing fails. It is safe for concurrent use.
type recent struct {
	clock Clock

	mu       sync.Mutex
	now, old map[recentKey]string // why it was refused; empty if it was accepted
	since    time.Time            // of now
	filled   atomic.Bool
	scratch  []byte
}

// recentKey is one sample of one series: the value's bits, or a histogram's hash.
type recentKey struct {
	tenant     string
	num, value uint64
	t          int64
}

const (
	// recentFor is how long a decision is remembered at least; at most twice
	// that. Clients retry for some minutes.
	recentFor = 5 * time.Minute
	// maxRecent bounds the decisions that are remembered to some 40 MiB.
	maxRecent = 1 << 18
)

// any reports whether there is anything to find.
func (r *recent) any() bool { return r.filled.Load() }

// keep remembers what was decided on the rows of one unit.
func (r *recent) keep(tenant string, decisions []decision, unit int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range decisions {
		if d := &decisions[i]; d.row.unit == unit {
			r.add(tenant, &d.row, d.reason)
		}
	}
}

func (r *recent) add(tenant string, row *Row, reason string) {
	if row.derived() {
		return
	}
	r.rotate()
	if r.now == nil {
		r.now = map[recentKey]string{}
	}
	r.now[r.key(tenant, row)] = reason
	r.filled.Store(true)
}

// derived reports whether the row is one of several that a sample became.
func (r *Row) derived() bool {
	x := r.Series.extra.Load()
	return r.Form != &r.Series.Form && (x == nil || !slices.Contains(x.forms, r.Form))
}

// find returns what was decided on a row like this one.
func (r *recent) find(tenant string, row *Row) (reason string, known bool) {
	if row.derived() {
		return "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rotate()
	key := r.key(tenant, row)
	if reason, known = r.now[key]; !known {
		reason, known = r.old[key]
	}
	return reason, known
}

// rotate forgets what is too old, or too much.
func (r *recent) rotate() {
	now := r.clock.Now()
	if now.Sub(r.since) < recentFor && len(r.now) < maxRecent/2 {
		return
	}
	if now.Sub(r.since) >= 2*recentFor {
		r.now = nil
	}
	r.old, r.now, r.since = r.now, nil, now
	r.filled.Store(len(r.old) > 0)
}

var recentSeed = maphash.MakeSeed()

func (r *recent) key(tenant string, row *Row) recentKey {
	k := recentKey{tenant: tenant, num: row.Series.num(), t: row.T, value: math.Float64bits(row.V)}
	if row.isHistogram() {
		r.scratch = appendHistogram(r.scratch[:0], row.H, row.FH, 0, row.T)
		k.value = maphash.Bytes(recentSeed, r.scratch)
	}
	return k
}

// Remember tells the destination that it has accepted all of a tenant's samples,
// which a client will send again because another party failed.
func (d *Destination) Remember(tenant string, samples []Sample) {
	r := &d.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range samples {
		if form := samples[i].Series.To(d.table, d.index); form != nil {
			r.add(tenant, &Row{Sample: &samples[i], Form: form}, "")
		}
	}
}
