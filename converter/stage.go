package converter

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage"
)

// staged is the samples of one group of series on their way to the backend.
// Points are staged while the request is walked and appended when all of it was
// read: a torn frame appends nothing, and what came out of order within the
// request is put in order first. It is a cache line.
type staged struct {
	group  *series.Group // the series, each of which gets a sample
	st, ms int64
	family int32 // in c.families
	native int32 // in c.natives if the value is a native histogram, or -1
	// values is where the samples' values stand in c.values, one per series: the
	// bits that the marks compare. They are the sample itself but for a native
	// histogram, where they are its hash.
	values int32
	// exemplars is where the samples' exemplars stand in c.ranges, or -1.
	exemplars int32
	place     int32 // in the line of its target; see storage.TargetAppender
	appended  int32 // samples that the backend has taken
	point     int32 // which point of the request, 0 for none
	refused   bool
}

// exemplarRange is c.exemplars[from:to].
type exemplarRange struct{ from, to int }

// offer is a time of a series, as a key.
type offer struct {
	record *series.Record
	ms     int64
}

// stage takes the samples of a whole group that was judged Fresh and whose owner
// is held. Their values stand in c.values from from on.
func (c *converter) stage(t *task, g *series.Group, in *reading, from int, ranges int32) {
	s := c.put(g, &t.metric.family)
	s.st, s.ms = in.st, in.ms
	s.values, s.exemplars, s.point = int32(from), ranges, int32(c.report.points)
	if in.h != nil {
		s.native = int32(len(c.natives))
		c.natives = append(c.natives, in.h)
	}
	c.offer(s)
}

// put makes room for one more that is staged. Beside the group it holds no
// pointers, which cost more to write than numbers while garbage is collected.
func (c *converter) put(g *series.Group, f *family) *staged {
	if n := len(c.families); n == 0 || c.families[n-1] != f {
		c.families = append(c.families, f)
	}
	n := len(c.staged)
	if n == cap(c.staged) {
		c.staged = slices.Grow(c.staged, max(64, n))
	}
	c.staged = c.staged[:n+1]
	s := &c.staged[n]
	s.group, s.place, s.family, s.native = g, int32(c.place), int32(len(c.families)-1), -1
	s.appended, s.refused = 0, false
	return s
}

// offer moves the mark of a group that was staged.
func (c *converter) offer(s *staged) {
	g := s.group
	values := c.values[s.values : int(s.values)+g.Len()]
	if s.ms < g.OfferedMs() && c.mayHaveStaged(g) {
		c.unsorted = true
	}
	g.Offer(s.ms, values, c.txn)
	if len(c.seen) > 0 {
		for i, bits := range values {
			c.seen[offer{g.Record(i), s.ms}] = bits
		}
	}
}

// append hands what was staged to the backend. A refusal costs the point it
// belongs to; any other error ends the transaction.
func (c *converter) append() error {
	if c.unsorted {
		slices.SortStableFunc(c.staged, func(a, b staged) int { return cmp.Compare(a.ms, b.ms) })
	}
	var of *family
	place := int32(-1)
	refused := int32(0) // the point refused last, which may be staged in parts
	for i := range c.staged {
		s := &c.staged[i]
		if s.place != place && c.targeter != nil {
			place = s.place
			c.targeter.At(int(place))
		}
		if s.point != 0 && s.point == refused {
			s.refused = true
			continue
		}
		if f := c.families[s.family]; f != of {
			of = f
			c.about.MetricFamilyName, c.about.Metadata = of.name, of.meta
		}
		err := c.appendGroup(s)
		if err == nil {
			continue
		}
		label, ok := storage.RefusalReason(err)
		if !ok {
			return err
		}
		s.refused = true
		if s.point != 0 {
			refused = s.point
			c.detail = err.Error()
			c.reject(storeReason(label), []byte(of.name))
		}
	}
	return nil
}

// appendGroup appends the samples of a group, up to the first that is refused.
func (c *converter) appendGroup(s *staged) error {
	g, n := s.group, s.group.Len()
	var h *histogram.Histogram
	if s.native >= 0 {
		h = c.natives[s.native]
	}
	values := c.values[s.values:][:n]
	for i := range n {
		v := 0.0
		if h == nil {
			v = math.Float64frombits(values[i])
		}
		if s.exemplars >= 0 {
			x := c.ranges[int(s.exemplars)+i]
			c.about.Exemplars = c.exemplars[x.from:x.to:x.to]
		} else if c.about.Exemplars != nil {
			c.about.Exemplars = nil
		}
		r := g.Record(i)
		known := r.Ref()
		ref, err := c.app.Append(known, r.Labels, s.st, s.ms, v, h, nil, c.about)
		if err != nil && !exemplarsOnly(err) {
			return err
		}
		s.appended++
		if ref != known {
			r.SetRef(ref)
		}
	}
	return nil
}

// exemplarsOnly reports whether an append stored its sample and lost only
// exemplars, which never cost a sample.
func exemplarsOnly(err error) bool {
	var partial *promstorage.AppendPartialError
	return errors.As(err, &partial)
}

// settle moves the marks of everything that was staged, once the transaction
// is decided. What was refused was not acknowledged.
func (c *converter) settle(committed bool) {
	for i := range c.staged {
		s := &c.staged[i]
		c.settleHold(s.group.Owner)
		s.group.Settle(s.ms, c.values[s.values:int(s.values)+s.group.Len()], c.txn, committed && !s.refused)
	}
	c.unhold()
}

// forgetLoose tells the backend that the series which had no room in the cache
// are not known any more: nobody would tell it later.
func (c *converter) forgetLoose() {
	if len(c.loose) == 0 || c.opts.forget == nil {
		return
	}
	refs := make([]promstorage.SeriesRef, 0, len(c.loose))
	for _, r := range c.loose {
		if ref := r.Ref(); ref != 0 {
			refs = append(refs, ref)
		}
	}
	if len(refs) > 0 {
		c.opts.forget(refs)
	}
}

// settleHold is hold without a place in the line: the transaction is over.
func (c *converter) settleHold(t *series.Target) {
	if c.held != t {
		c.unhold()
		t.Lock()
		c.held = t
	}
}

// refuseFarEnd marks what the far end refused and counts the points it
// concerns: each once, whatever number of its samples was refused.
func (c *converter) refuseFarEnd(refusals []storage.Refusal) {
	refused := slices.Clone(refusals)
	first := 0 // number of the point's first append
	counted := int32(0)
	for i := range c.staged {
		s := &c.staged[i]
		last := first + int(s.appended) - 1
		for n := range refused {
			r := &refused[n]
			if s.refused || s.appended == 0 || last < r.First || first > r.Last {
				continue
			}
			// Which ones of a range were refused may be unknown: then none of
			// it counts as acknowledged, and as many are reported as were said.
			s.refused = true
			if r.Count > 0 && s.point != 0 && s.point != counted {
				counted = s.point
				r.Count--
				c.detail = r.Reason
				c.reject(ReasonFarEnd, []byte(c.families[s.family].name))
			}
		}
		first = last + 1
	}
}

// stageExemplars reads the exemplars of a point if they are wanted and returns
// where their ranges stand in c.ranges, one per series, or -1 if there are none.
func (c *converter) stageExemplars(t *task, p *otlp.Point, in *reading, wanted bool, n int) (int32, *otlp.Error) {
	if err := c.pointExemplars(t, p, wanted, in.bounds, in.ms); err != nil {
		return -1, err
	}
	if len(c.placed) == 0 {
		return -1, nil
	}
	ranges := len(c.ranges)
	for i := range n {
		c.takeExemplars(i - in.buckets)
	}
	return int32(ranges), nil
}

// takeExemplars moves the exemplars of one bucket to c.exemplars and notes
// their range there. Buckets are taken in ascending order, one per series. Over
// a limit the newest are kept.
func (c *converter) takeExemplars(bucket int) {
	first := c.taken
	for c.taken < len(c.placed) && c.placed[c.taken].bucket == bucket {
		c.taken++
	}
	n := c.taken - first
	keep := n
	if limit := c.opts.Limits.MaxExemplarsPerSeries; limit > 0 {
		keep = min(keep, limit)
	}
	if limit := c.opts.Limits.MaxExemplarsPerRequest; limit > 0 {
		keep = min(keep, max(0, limit-len(c.exemplars)))
	}
	if keep < n {
		c.opts.warn(warnExemplar, "more exemplars than limits.max_exemplars_per_series or _per_request")
	}
	from := len(c.exemplars)
	for _, p := range c.placed[c.taken-keep : c.taken] {
		c.exemplars = append(c.exemplars, p.exemplar)
	}
	c.ranges = append(c.ranges, exemplarRange{from, len(c.exemplars)})
}
