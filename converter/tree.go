package converter

import (
	"iter"
	"sync/atomic"

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
	// about names the resource for people, once somebody asks. It and warnedMs
	// are guarded by nothing: conflicts are found while other targets are held.
	about atomic.Pointer[string]
	// warnedMs is when its client was last warned of a conflict.
	warnedMs atomic.Int64
	// info are the labels of target_info, empty for none.
	info labels.Labels
	// infoSeries is its series once there was a point, nil before.
	infoSeries *series.Record

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
	// wire is what the metric is on the wire, beside its type.
	wire   wireMetric
	frame  otlp.Frame
	points series.Index[point]
	// shape is the layout of the point made last, which others share.
	shape string
}

// wireMetric identifies a metric among those of its scope.
type wireMetric struct {
	name, unit, hint string
	temporality      otlp.Temporality
	monotonic, known bool
}

// layout returns bounds or quantiles as a string that outlives the request: the
// one that the metric's last new point had, if they are the same.
func (m *metric) layout(raw []byte) string {
	if m.shape != string(raw) {
		m.shape = string(raw)
	}
	return m.shape
}

// point is what is known about one stream of points: its series.
type point struct {
	// group are the point's series, in the order in which its type appends them,
	// as long as they are written together.
	group *series.Group
	// other says what is unusual, nil for nothing.
	other *unusual
	// layout is what the list of series was built for: raw bounds or quantiles.
	layout string
	hasSum bool
	reject Reason
}

// unusual is what few points need.
type unusual struct {
	// records are the point's series when they are no group. Nil ones are series
	// that relabelling dropped.
	records []*series.Record
	detail  string // why the point is rejected
}

// detail says more about why the point is rejected.
func (p *point) detail() string {
	if p.other == nil {
		return ""
	}
	return p.other.detail
}

// refuse makes the point one that is rejected.
func (p *point) refuse(reason Reason, detail string) {
	*p = point{layout: p.layout, hasSum: p.hasSum, reject: reason}
	if detail != "" {
		p.other = &unusual{detail: detail}
	}
}

// records returns how many series the point has, dropped ones included.
func (p *point) len() int {
	switch {
	case p.group != nil:
		return p.group.Len()
	case p.other != nil:
		return len(p.other.records)
	}
	return 0
}

// record returns series i, nil for one that relabelling dropped.
func (p *point) record(i int) *series.Record {
	if p.group != nil {
		return p.group.Record(i)
	}
	return p.other.records[i]
}

// held returns the series that the point holds.
func (p *point) held() iter.Seq[*series.Record] {
	return func(yield func(*series.Record) bool) {
		for i := range p.len() {
			if r := p.record(i); r != nil && !yield(r) {
				return
			}
		}
	}
}

// Costs of the tree's nodes beyond their index entries, in bytes.
const (
	senderCost  = 400
	scopeCost   = 160
	metricCost  = 320
	pointCost   = 40
	unusualCost = 40
)

// size returns what the point costs beyond its records.
func (p *point) size() int {
	n := pointCost + len(p.layout)
	if p.other != nil {
		n += unusualCost + 8*len(p.other.records) + len(p.other.detail)
	}
	return n
}

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
				refs = s.release(p.Value.held(), refs)
				return true
			})
			gone := everything || m.Used < before && m.Value.points.Len() == 0
			if gone {
				m.Value.kept = false // A request may still hold it.
				if m.Value.reject == accepted {
					s.families.leave(s.tenant.Name, m.Value)
				}
			}
			return gone
		})
		gone := everything || sc.Used < before && sc.Value.metrics.Len() == 0
		if gone {
			sc.Value.kept = false
		}
		return gone
	})
	if everything {
		s.kept = false
		if s.infoSeries != nil {
			refs = s.tenant.Records.Release(s.infoSeries, s.budget, refs)
		}
		s.infoSeries = nil
	}
	return refs
}

// release gives records back that points held.
func (s *sender) release(records iter.Seq[*series.Record], refs []promstorage.SeriesRef) []promstorage.SeriesRef {
	for r := range records {
		refs = s.tenant.Records.Release(r, s.budget, refs)
	}
	return refs
}
