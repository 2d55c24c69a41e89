package local

import (
	"math"
	"sync"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"
)

// point is a sample's place: a series and a time in ms.
type point struct {
	ref promstorage.SeriesRef
	t   int64
}

// sampleValue is what a sample says. The histograms are the store's and do not
// change any more.
type sampleValue struct {
	bits uint64
	h    *histogram.Histogram
	fh   *histogram.FloatHistogram
}

func valueOf(v float64, h *histogram.Histogram, fh *histogram.FloatHistogram) sampleValue {
	return sampleValue{math.Float64bits(v), h, fh}
}

// stale says whether v is a staleness marker. The TSDB turns one into the type
// of the sample before it, so that markers of all types are the same.
func (v sampleValue) stale() bool {
	switch {
	case v.fh != nil:
		return value.IsStaleNaN(v.fh.Sum)
	case v.h != nil:
		return value.IsStaleNaN(v.h.Sum)
	}
	return v.bits == value.StaleNaN
}

func (v sampleValue) equal(w sampleValue) bool {
	switch {
	case v.stale() || w.stale():
		return v.stale() && w.stale()
	case v.fh != nil || w.fh != nil:
		return v.fh != nil && w.fh != nil && v.fh.Equals(w.fh)
	case v.h != nil || w.h != nil:
		return v.h != nil && w.h != nil && v.h.Equals(w.h)
	}
	return v.bits == w.bits
}

// inflightShards spreads the locks of the table. Every append takes one for a
// moment, and there are few more appenders at once than CPUs.
const inflightShards = 64

// inflight is the table of samples that are appended and not settled. It is
// safe for concurrent use.
type inflight struct {
	shards [inflightShards]inflightShard
}

type inflightShard struct {
	mu     sync.Mutex
	points map[point]held
	_      [40]byte // A shard per cache line.
}

// held is the value of a point in flight, and how many appends hold it.
type held struct {
	value sampleValue
	n     int
}

func (f *inflight) shard(p point) *inflightShard {
	return &f.shards[(uint64(p.ref)^uint64(p.t)>>10)%inflightShards]
}

// enter adds a sample, and returns false if the same place has another value.
func (f *inflight) enter(p point, v sampleValue) bool {
	s := f.shard(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	have, ok := s.points[p]
	if ok && !have.value.equal(v) {
		return false
	}
	if s.points == nil {
		s.points = map[point]held{}
	}
	if !ok {
		have.value = v
	}
	have.n++
	s.points[p] = have
	return true
}

// leave takes back one enter.
func (f *inflight) leave(p point) {
	s := f.shard(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.points[p]
	if have.n--; have.n > 0 {
		s.points[p] = have
		return
	}
	delete(s.points, p)
}
