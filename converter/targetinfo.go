package converter

import (
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/otlpgw/otlpgw/converter/series"
)

// writersWithin is how soon a target_info that was replaced must come back to
// be the work of a second writer and not of another change: the time for which
// Prometheus looks back.
const writersWithinMs = 5 * 60 * 1000

// targetInfo stages one sample of target_info for a resource, at the time of
// its newest accepted point, unless one at that time or later was acknowledged
// or is on its way. At most one is live per job and instance: when a resource's
// attributes change, what was written before gets the stale marker at the new
// one's time; when they change back soon, two processes claim to be one target,
// and the one that is live stays.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Resource Attributes".
func (c *converter) targetInfo(s *series.Sender[*sender], newestMs int64) {
	st := s.State
	if st.info.IsEmpty() {
		return
	}
	c.hold(s.Target)
	r := c.infoSeries(s)
	info := &s.Target.Info
	switch {
	case info.Live == nil || same(info.Live, r):
		info.Live = r
	case info.Before != nil && same(info.Before, r) && c.nowMs-info.SinceMs < writersWithinMs,
		newestMs <= info.NewestMs:
		// The second: both claim the same time, in one request or in two.
		c.conflict(conflictInfo, st, subject{ls: st.info}, "", true)
		return
	default:
		if info.Txn == c.txn {
			// One request holds both: that is no change but two claims.
			c.conflict(conflictInfo, st, subject{ls: st.info}, "", true)
		}
		info.Before, info.Live, info.SinceMs = info.Live, r, c.nowMs
	}
	info.NewestMs, info.Txn = max(info.NewestMs, newestMs), c.txn
	if before := info.Before; before != nil && !same(before, r) {
		c.endInfo(before, newestMs)
	}
	c.hold(r.Owner())
	if g := r.Alone(); newestMs > g.AckedMs() && newestMs >= g.OfferedMs() {
		c.stageInfo(g, newestMs, 1)
	}
}

// infoSeries returns the series of a sender's target_info.
func (c *converter) infoSeries(s *series.Sender[*sender]) *series.Record {
	st := s.State
	if st.infoSeries != nil {
		return st.infoSeries
	}
	var pt point
	kept := c.findSeries(&task{sender: s, scope: &scope{kept: true}, metric: &metric{kept: true}}, &pt, []labels.Labels{st.info})
	if kept && !st.kept {
		// Others know the series, but nobody would give it back for this sender.
		c.unkeep(st, &pt)
	}
	if !kept || !st.kept {
		return pt.record(0)
	}
	st.infoSeries = pt.record(0)
	return st.infoSeries
}

// endInfo marks a replaced target_info stale, until a commit has taken it.
func (c *converter) endInfo(r *series.Record, ms int64) {
	c.hold(r.Owner())
	g := r.Alone()
	if g.Ended() || ms <= g.OfferedMs() && g.OfferedMs() == g.AckedMs() {
		return
	}
	c.stageInfo(g, max(ms, g.OfferedMs()), staleNaN)
}

// stageInfo stages a sample of target_info, whose owner is held.
func (c *converter) stageInfo(g *series.Group, ms int64, v float64) {
	if c.judge(g, 0, ms, math.Float64bits(v)) == series.Fresh {
		c.value(v)
		s := c.put(g, &c.opts.infoFamily)
		s.st, s.ms, s.point = 0, ms, 0
		s.values, s.exemplars = int32(len(c.values)-1), -1
		c.offer(s)
	}
}

// same reports whether two records are one series, also when one of them was
// evicted and made again.
func same(a, b *series.Record) bool {
	return a == b || labels.Equal(a.Labels, b.Labels)
}

// infoFamily describes target_info.
func infoFamily(name string) family {
	return family{name: name, meta: metadata.Metadata{Type: model.MetricTypeGauge, Help: "Target metadata"}}
}
