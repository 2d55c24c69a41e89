package converter

import (
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// The cache's tree: sender → scope → metric → point. Each level is found by
// raw bytes; below a point lie the records of its series. All of it is guarded
// by the lock of the sender's target.

// sender is what is known about one resource.
type sender struct {
	tenant *series.Tenant[*sender]
	budget *series.Budget
	// families has the types of the names that the sender uses.
	families *families
	// kept is false for a sender that the cache has no room for, and once it
	// was evicted: nothing below it is accounted any more.
	kept bool

	job, instance string
	promoted      []attribute
	// reject is why none of the resource's points can be series.
	reject Reason
	// about names the resource for people, once somebody asks.
	about string
	// warnedMs is when its client was last warned of a conflict.
	warnedMs int64
	// info are the labels of target_info, empty for none.
	info labels.Labels
	// infoRecord is its series once there was a point, empty before.
	infoRecord []*series.Record

	scopes series.Index[*scope]
}

// scope is what is known about one instrumentation scope of a sender.
type scope struct {
	kept    bool
	labels  []attribute
	reject  Reason
	metrics series.Index[*metric]
}

// metric is what is known about one metric of a scope: all that its points
// share.
type metric struct {
	family
	kept   bool
	typ    otlp.Type
	native bool // explicit buckets become a native histogram
	start  bool // points carry a start timestamp
	reject Reason
	points series.Index[point]
}

// point is what is known about one stream of points: its series.
type point struct {
	// records are the point's series, in the order in which its type appends
	// them.
	records []*series.Record
	// layout is what the list of series was built for: raw bounds or quantiles.
	layout string
	hasSum bool
	reject Reason
	detail string
	// gaps says that some records are nil: series that relabelling dropped.
	gaps bool
}

// dropped reports whether relabelling left no series.
func (p *point) dropped() bool {
	for _, r := range p.records {
		if r != nil {
			return false
		}
	}
	return true
}

// Costs of the tree's nodes beyond their index entries, in bytes.
const (
	senderCost = 400
	scopeCost  = 160
	metricCost = 320
	pointCost  = 64
)

// size returns what the point costs beyond its records.
func (p *point) size() int { return pointCost + 8*len(p.records) + len(p.layout) }

// noRoom is the budget of what hangs below something that is not kept: it
// serves one request and is accounted nowhere.
var noRoom series.Budget

// room returns the budget for the scopes of a sender.
func (s *sender) room() *series.Budget { return s.roomIf(true) }

// roomIf returns the sender's budget for children of nodes that are kept.
func (s *sender) roomIf(kept bool) *series.Budget {
	if s.kept && kept {
		return s.budget
	}
	return &noRoom
}

// room returns the budget for the points of a metric.
func (t *task) room() *series.Budget {
	return t.sender.State.roomIf(t.scope.kept && t.metric.kept)
}

// Sweep implements [series.State].
func (s *sender) Sweep(before uint32, everything bool, refs []promstorage.SeriesRef) []promstorage.SeriesRef {
	s.scopes.Sweep(s.budget, func(sc *series.Entry[*scope]) bool {
		sc.Value.metrics.Sweep(s.budget, func(m *series.Entry[*metric]) bool {
			m.Value.points.Sweep(s.budget, func(p *series.Entry[point]) bool {
				if !everything && p.Used >= before {
					return false
				}
				refs = s.release(p.Value.records, refs)
				return true
			})
			gone := everything || m.Used < before && m.Value.points.Len() == 0
			if gone && m.Value.reject == accepted {
				s.families.leave(s.tenant.Name, m.Value)
			}
			return gone
		})
		return everything || sc.Used < before && sc.Value.metrics.Len() == 0
	})
	if everything {
		s.kept = false
		refs = s.release(s.infoRecord, refs)
		s.infoRecord = nil
	}
	return refs
}

func (s *sender) release(records []*series.Record, refs []promstorage.SeriesRef) []promstorage.SeriesRef {
	for _, r := range records {
		if r == nil {
			continue
		}
		refs = s.tenant.Records.Release(r, s.budget, refs)
	}
	return refs
}
