package series

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

const recordShards = 64

// Records finds the record of a label set. One belongs to one backend and
// tenant. It is safe for concurrent use.
type Records struct {
	shards [recordShards]recordShard

	total atomic.Int64

	// perMetric says that the series of each metric name are counted.
	perMetric bool
	mu        sync.Mutex
	byMetric  map[string]int
}

type recordShard struct {
	mu sync.Mutex
	// byLabels has the records under the hashes of their labels.
	byLabels table[Record]
}

// Hold returns the record of ls and counts the caller as one that holds it until
// [Records.Release], or nil if nobody knows the series.
func (x *Records) Hold(ls labels.Labels) *Record {
	hash := hashOfLabels(ls)
	s := &x.shards[hash%recordShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(hash, ls)
	if r == nil {
		return nil
	}
	if r.holders < math.MaxUint16 {
		r.holders++
	}
	if r.holders > 1 {
		r.shared.Store(true)
	}
	return r
}

// Add makes the series of label sets that nobody knows, as one group whose
// owner is given, and counts the caller as one that holds each of them. Without
// room in the budget for all of them they serve this request alone: kept is
// false, and there is nothing to release. It returns nil when another target's
// request came first with one of them: hold that, and add the others.
func (x *Records) Add(sets []labels.Labels, owner *Target, b *Budget) (g *Group, kept bool) {
	g = newGroup(sets, owner)
	size := 0
	for i := range g.records {
		size += g.records[i].cost()
	}
	if !b.reserve(size, len(sets)) {
		return g, false
	}
	x.total.Add(int64(len(sets)))
	for i := range g.records {
		if !x.add(&g.records[i]) {
			x.total.Add(int64(i - len(sets)))
			for j := range g.records[:i] {
				x.Release(&g.records[j], b, nil)
				size -= g.records[j].cost()
			}
			b.release(size, len(sets)-i)
			return nil, false
		}
	}
	return g, true
}

// add makes a record known, unless its series is already.
func (x *Records) add(r *Record) bool {
	hash := hashOfLabels(r.Labels)
	s := &x.shards[hash%recordShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(hash, r.Labels) != nil {
		return false
	}
	r.holders = 1
	s.byLabels.add(hash, r)
	x.count(r.Labels, 1)
	return true
}

// count keeps the number of series per metric name.
func (x *Records) count(ls labels.Labels, by int) {
	if !x.perMetric {
		return
	}
	name := ls.Get(model.MetricNameLabel)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byMetric == nil {
		x.byMetric = make(map[string]int)
	}
	if x.byMetric[name] += by; x.byMetric[name] <= 0 {
		delete(x.byMetric, name)
	}
}

// Metric returns how many series of that name are known, if they are counted;
// see [Options.CountPerMetric].
func (x *Records) Metric(name string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byMetric[name]
}

// Len returns how many series are known.
func (x *Records) Len() int { return int(x.total.Load()) }

// Known reports whether there is a record for ls.
func (x *Records) Known(ls labels.Labels) bool {
	hash := hashOfLabels(ls)
	s := &x.shards[hash%recordShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(hash, ls) != nil
}

// Each calls f for every series, until it returns false. It locks one shard at
// a time; f must not call back into x.
func (x *Records) Each(f func(labels.Labels) bool) {
	for i := range x.shards {
		if !x.shards[i].each(f) {
			return
		}
	}
}

func (s *recordShard) each(f func(labels.Labels) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byLabels.each(func(r *Record) bool { return f(r.Labels) })
}

func (s *recordShard) find(hash uint64, ls labels.Labels) *Record {
	for i := s.byLabels.first(hash); i >= 0; i = s.byLabels.after(i, hash) {
		if r := s.byLabels.slots[i].value; labels.Equal(r.Labels, ls) {
			return r
		}
	}
	return nil
}

// Release gives a held record back. When nobody holds it any more it is
// forgotten, and its ref is appended to refs. A record held by 65535 or more
// stays.
func (x *Records) Release(r *Record, b *Budget, refs []storage.SeriesRef) []storage.SeriesRef {
	hash := hashOfLabels(r.Labels)
	s := &x.shards[hash%recordShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.holders == math.MaxUint16 {
		return refs
	}
	if r.holders--; r.holders > 0 {
		return refs
	}
	i := s.byLabels.first(hash)
	for s.byLabels.slots[i].value != r {
		i = s.byLabels.after(i, hash)
	}
	s.byLabels.remove(i)
	b.release(r.cost(), 1)
	x.total.Add(-1)
	x.count(r.Labels, -1)
	if ref := r.Ref(); ref != 0 {
		refs = append(refs, ref)
	}
	return refs
}
