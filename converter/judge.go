package converter

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// reading is what a point says, beside the values of its series, which are the
// last in c.values, in the order of the series.
type reading struct {
	st, ms int64
	h      *histogram.Histogram // of a native histogram; its value is the hash
	// Exemplars go to the series from buckets on, by the bucket that their value
	// falls into.
	buckets int
	bounds  otlp.Fixed64s
	// counts says that the first value is a count, or a sum that only grows.
	counts bool
}

// stagePoint judges and stages the series of a point. What is newer than all
// that its series had, which is all but always, takes one look.
func (c *converter) stagePoint(t *task, pt *point, p *otlp.Point, in *reading) (Reason, *otlp.Error) {
	// The point is the sender's target's, which may be let go for the owner of a
	// series; what another request makes of it then is not this one's.
	own := *pt
	pt = &own
	g := pt.group
	if g == nil {
		return c.stageParts(t, pt, p, in)
	}
	c.hold(g.Owner)
	if !g.Whole() || !g.Newer(in.ms) {
		return c.stageParts(t, pt, p, in)
	}
	ranges := int32(-1)
	if p.Exemplars.Len() > 0 {
		var err *otlp.Error
		if ranges, err = c.stageExemplars(t, p, in, true, g.Len()); err != nil {
			return accepted, err
		}
	}
	from := len(c.values) - g.Len()
	if in.st != 0 {
		c.writers(t, g, in.st, in.ms, c.values[from], in.counts)
	}
	c.stage(t, g, in, from, ranges)
	t.newest = max(t.newest, in.ms)
	return accepted, nil
}

// stageParts is stagePoint for series that are judged one by one. All are
// judged before the first is staged: a point is accepted or rejected once.
func (c *converter) stageParts(t *task, pt *point, p *otlp.Point, in *reading) (Reason, *otlp.Error) {
	n := pt.len()
	from := len(c.values) - n
	g := pt.group
	if g != nil && !g.Whole() {
		g = nil
	}
	c.verdicts = c.verdicts[:0]
	count := [...]int{series.Fresh: 0, series.Same: 0, series.Repeated: 0, series.Conflict: 0, series.Late: 0}
	gaps := 0
	var worst *series.Record // the last series that refuses the point
	for i := range n {
		r := pt.record(i)
		if r == nil { // A series that relabelling dropped needs no sample.
			c.verdicts = append(c.verdicts, series.Same)
			gaps++
			continue
		}
		c.hold(r.Owner())
		of, k := g, i
		if of == nil {
			of, k = r.Alone(), 0
		}
		v := c.judge(of, k, in.ms, c.values[from+i])
		c.verdicts = append(c.verdicts, v)
		count[v]++
		if v == series.Conflict || v == series.Late {
			worst = r
		}
	}
	fresh := count[series.Fresh]
	ranges := int32(-1)
	if p.Exemplars.Len() > 0 {
		var err *otlp.Error
		if ranges, err = c.stageExemplars(t, p, in, fresh > 0 && worst == nil, n); err != nil {
			return accepted, err
		}
	}
	if worst != nil {
		c.values = c.values[:from]
		c.hold(worst.Owner())
		if count[series.Conflict] > 0 {
			return c.conflicting(t, worst), nil
		}
		return c.late(worst, in.ms), nil
	}
	switch {
	case fresh > 0:
		c.stageFresh(t, pt, g, in, from, ranges)
	case count[series.Repeated] > 0:
		c.repeated++
	case gaps == n:
		c.opts.metrics.dropped.Inc()
		return accepted, nil
	case gaps == 0:
		c.merged(t, pt.record(0))
	}
	t.newest = max(t.newest, in.ms)
	return accepted, nil
}

// stageFresh stages those series of a point that were judged Fresh. Others were
// acknowledged by an earlier request, stand twice in this one, or were dropped
// by relabelling.
func (c *converter) stageFresh(t *task, pt *point, g *series.Group, in *reading, from int, ranges int32) {
	first := true
	if g != nil {
		whole := true
		for _, v := range c.verdicts {
			whole = whole && v == series.Fresh
		}
		if whole {
			c.hold(g.Owner)
			c.writers(t, g, in.st, in.ms, c.values[from], in.counts)
			c.stage(t, g, in, from, ranges)
			return
		}
	}
	for i, v := range c.verdicts {
		r := pt.record(i)
		if v != series.Fresh {
			continue
		}
		c.hold(r.Owner())
		one := r.Alone()
		if first {
			c.writers(t, one, in.st, in.ms, c.values[from+i], in.counts && i == 0)
			first = false
		}
		at := ranges
		if at >= 0 {
			at += int32(i)
		}
		c.stage(t, one, in, from+i, at)
	}
}

// judge says what becomes of one value of a series, without changing anything.
// The owner is held.
func (c *converter) judge(g *series.Group, i int, ms int64, bits uint64) series.Verdict {
	v := g.Check(i, ms, bits, c.txn)
	if ms < g.OfferedMs() && (v == series.Late || v == series.Fresh) {
		v = c.judgeLate(g, i, ms, bits)
	}
	if v == series.Fresh && c.opts.Limits.RejectLate && ms < g.AckedMs() {
		return series.Late
	}
	return v
}

// judgeLate looks a value that is older than one offered before up among all
// that this request has staged: the group remembers the newest only. The table
// is built when the first one comes, so that requests in order pay nothing.
func (c *converter) judgeLate(g *series.Group, i int, ms int64, bits uint64) series.Verdict {
	if !c.mayHaveStaged(g) {
		return series.Fresh
	}
	if len(c.seen) == 0 {
		for i := range c.staged {
			s := &c.staged[i]
			for n := range s.group.Len() {
				c.seen[offer{s.group.Record(n), s.ms}] = c.values[int(s.values)+n]
			}
		}
	}
	known, ok := c.seen[offer{g.Record(i), ms}]
	switch {
	case !ok:
		return series.Fresh
	case known == bits:
		return series.Same
	}
	return series.Conflict
}

// mayHaveStaged reports whether this request may hold samples of a group whose
// owner is held. Who staged it last tells, unless the target was let go in
// between: then it may have been another request.
func (c *converter) mayHaveStaged(g *series.Group) bool {
	if g.StagedIn(c.txn) {
		return true
	}
	if c.returned == unknown {
		c.returned = no
		for i := range c.staged[:c.heldFrom] {
			if c.staged[i].group.Owner == c.held {
				c.returned = yes
				break
			}
		}
	}
	return c.returned == yes
}

// answer is what a question has been answered with, if it was asked.
type answer uint8

const (
	unknown answer = iota
	no
	yes
)

// writers looks for a second process that writes the series, and notes the
// start of the samples that are about to be offered. The group's owner is held;
// bits are those of its first series' value.
func (c *converter) writers(t *task, g *series.Group, st, ms int64, bits uint64, counts bool) {
	if st == 0 {
		return
	}
	if g.Disturbed(st, ms, math.Float64frombits(bits), counts) {
		c.conflict(conflictWriters, t.sender.State, subject{ls: g.Record(0).Labels}, t.metric.name, true)
	}
	g.Started(st)
}

// conflicting counts a point whose series has another value at its time.
func (c *converter) conflicting(t *task, r *series.Record) Reason {
	c.conflict(conflictSeries, t.sender.State, subject{ls: r.Labels}, "", false)
	c.explain(ReasonConflict, "%s", excerpt(r.Labels.String()))
	return ReasonConflict
}

// merged warns of two streams that gave one series one value for one time.
// Nothing is lost, but the next values may differ.
func (c *converter) merged(t *task, r *series.Record) {
	if r.Shared() {
		c.conflict(conflictSeries, t.sender.State, subject{ls: r.Labels}, t.metric.name, true)
	}
}

// late refuses a point that limits.reject_late refuses. The owner of r is held.
func (c *converter) late(r *series.Record, ms int64) Reason {
	c.explain(ReasonOutOfOrder, "%d ms before the newest one acknowledged, and limits.reject_late is set", r.Group().AckedMs()-ms)
	return ReasonOutOfOrder
}
