package converter

import (
	"cmp"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage"
)

// sample is one staged sample. Samples are staged while the request is walked
// and appended when all of it was read: a torn frame appends nothing, and what
// came out of order within the request is put in order first.
type sample struct {
	record  *series.Record
	family  *family
	h       *histogram.Histogram
	st, ms  int64
	v       float64
	bits    uint64 // the value as the marks compare it
	point   int    // which point of the request, 0 for none
	exFrom  int    // c.exemplars[exFrom:exTo]
	exTo    int
	refused bool
}

// offer is a time of a series, as a key.
type offer struct {
	record *series.Record
	ms     int64
}

// judge says what becomes of one value of a series, without changing anything.
func (c *converter) judge(r *series.Record, ms int64, bits uint64) series.Verdict {
	c.hold(r.Owner)
	v := r.Check(ms, bits, c.txn)
	if v == series.Late || v == series.Fresh && len(c.seen) > 0 {
		return c.judgeLate(r, ms, bits)
	}
	return v
}

// judgeLate looks a late value up among all that this request has staged. The
// table is built when the first one comes, so that requests in order pay
// nothing.
func (c *converter) judgeLate(r *series.Record, ms int64, bits uint64) series.Verdict {
	if len(c.seen) == 0 {
		for i := range c.samples {
			s := &c.samples[i]
			c.seen[offer{s.record, s.ms}] = s.bits
		}
	}
	known, ok := c.seen[offer{r, ms}]
	switch {
	case !ok:
		return series.Fresh
	case known == bits:
		return series.Same
	}
	return series.Conflict
}

// stage takes a sample that was judged Fresh, for a point of the request or for
// none.
func (c *converter) stage(s sample, point int) {
	c.hold(s.record.Owner)
	if s.ms < s.record.OfferedMs() {
		c.unsorted = true
	}
	s.record.Offer(s.ms, s.bits, c.txn)
	if len(c.seen) > 0 {
		c.seen[offer{s.record, s.ms}] = s.bits
	}
	s.point = point
	c.samples = append(c.samples, s)
}

// append hands the staged samples to the backend. A refusal costs the point it
// belongs to; any other error ends the transaction.
func (c *converter) append() error {
	if c.unsorted {
		slices.SortStableFunc(c.samples, func(a, b sample) int { return cmp.Compare(a.ms, b.ms) })
	}
	var owner *series.Target
	refusedPoint := 0
	for i := range c.samples {
		s := &c.samples[i]
		if s.record.Owner != owner && c.targeter != nil {
			owner = s.record.Owner
			c.targeter.Target(owner.Hash)
		}
		if s.point != 0 && s.point == refusedPoint {
			s.refused = true
			continue
		}
		ref, err := c.app.Append(s.record.Ref(), s.record.Labels, s.st, s.ms, s.v, s.h, nil, promstorage.AppendV2Options{
			MetricFamilyName: s.family.name,
			Metadata:         s.family.meta,
			Exemplars:        c.exemplars[s.exFrom:s.exTo:s.exTo],
		})
		if err != nil && !exemplarsOnly(err) {
			label, ok := storage.RefusalReason(err)
			if !ok {
				return err
			}
			s.refused = true
			if s.point != 0 {
				refusedPoint = s.point
				c.report.reject(storeReason(label), []byte(s.family.name), 1)
			}
			continue
		}
		if ref != s.record.Ref() {
			s.record.SetRef(ref)
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
// is decided. Refused samples were not acknowledged.
func (c *converter) settle(committed bool) {
	for i := range c.samples {
		s := &c.samples[i]
		c.settleHold(s.record.Owner)
		s.record.Settle(s.ms, s.bits, c.txn, committed && !s.refused)
	}
	c.unhold()
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
func (c *converter) refuseFarEnd(refused []storage.Refusal) {
	index := make([]int, 0, len(c.samples))
	for i := range c.samples {
		if !c.samples[i].refused {
			index = append(index, i)
		}
	}
	counted := make(map[int]struct{})
	for _, r := range refused {
		points := 0
		for n := max(0, r.First); n <= r.Last && n < len(index); n++ {
			s := &c.samples[index[n]]
			s.refused = true
			if s.point == 0 {
				continue
			}
			if _, ok := counted[s.point]; ok {
				continue
			}
			if points < r.Count {
				points++
				counted[s.point] = struct{}{}
				c.report.reject(ReasonFarEnd, []byte(s.family.name), 1)
			}
		}
		if c.report.farEnd == "" {
			c.report.farEnd = r.Reason
		}
	}
}
