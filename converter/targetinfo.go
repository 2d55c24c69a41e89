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
	records := c.infoRecord(s)
	r := records[0]
	info := &s.Target.Info
	switch {
	case info.Live == nil || same(info.Live, r):
		info.Live = r
	case info.Before != nil && same(info.Before, r) && c.nowMs-info.SinceMs < writersWithinMs,
		newestMs <= info.Live.OfferedMs():
		// The second: both claim the same time, in one request or in two.
		c.conflict(conflictInfo, st, st.info.String(), "", true)
		return
	default:
		if info.Live.OfferedIn(c.txn) {
			// One request holds both: that is no change but two claims.
			c.conflict(conflictInfo, st, st.info.String(), "", true)
		}
		info.Before, info.Live, info.SinceMs = info.Live, r, c.nowMs
	}
	if before := info.Before; before != nil && !same(before, r) {
		c.endInfo(before, newestMs)
	}
	c.hold(r.Owner)
	if newestMs <= r.AckedMs() || newestMs < r.OfferedMs() {
		return
	}
	c.stageInfo(records, newestMs, math.Float64bits(1))
}

// infoRecord returns the series of a sender's target_info.
func (c *converter) infoRecord(s *series.Sender[*sender]) []*series.Record {
	st := s.State
	if len(st.infoRecord) > 0 {
		return st.infoRecord
	}
	r, kept := st.tenant.Records.Hold(st.info, s.Target, st.room())
	if !kept {
		return []*series.Record{c.looseRecord(r)}
	}
	st.infoRecord = []*series.Record{r}
	return st.infoRecord
}

// endInfo marks a replaced target_info stale, until a commit has taken it.
func (c *converter) endInfo(r *series.Record, ms int64) {
	c.hold(r.Owner)
	if r.Ended() || ms <= r.OfferedMs() && r.OfferedMs() == r.AckedMs() {
		return
	}
	c.stageInfo([]*series.Record{r}, max(ms, r.OfferedMs()), math.Float64bits(staleNaN))
}

func (c *converter) stageInfo(records []*series.Record, ms int64, bits uint64) {
	if c.judge(records[0], ms, bits) == series.Fresh {
		c.values = append(c.values, bits)
		c.stage(staged{records: records, family: &c.opts.infoFamily, ms: ms, exemplars: -1})
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
