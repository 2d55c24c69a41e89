package converter

import (
	"iter"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// findSeries finds the records of the label sets of a point, or makes them as
// one group. Without room for all of them none is kept, so that the point stays
// whole: its series serve this request alone.
func (c *converter) findSeries(t *task, pt *point, sets []labels.Labels) (kept bool) {
	st := t.sender.State
	if c.allNew(sets) && t.room().Roomy(len(sets)) {
		// As all but always, nobody knows any of them.
		if g, kept := st.tenant.Records.Add(sets, t.sender.Target, t.room()); kept {
			pt.group = g
			return true
		}
	}
	records := make([]*series.Record, len(sets))
	for {
		held, missing, kept := c.holdKnown(st, sets, records)
		if len(missing) > 0 {
			g, ok := st.tenant.Records.Add(missing, t.sender.Target, t.room())
			if g == nil {
				// Another target's request came first with one of them.
				c.forget(st, slices.Values(held))
				clear(records)
				continue
			}
			for i, n := 0, 0; n < g.Len(); i++ {
				if records[i] == nil && !sets[i].IsEmpty() {
					records[i] = g.Record(n)
					n++
					if ok {
						held = append(held, records[i])
					}
				}
			}
			kept = kept && ok
		}
		if !kept {
			c.forget(st, slices.Values(held))
			c.loosen(st, records)
		}
		pt.join(records)
		return kept
	}
}

// allNew reports whether all label sets may be unknown, as far as can be told
// without looking for them.
func (c *converter) allNew(sets []labels.Labels) bool {
	return len(c.loose) == 0 && !slices.ContainsFunc(sets, labels.Labels.IsEmpty)
}

// holdKnown fills in the records of the label sets that are known. It returns
// which of them are held now, what is missing, and whether all that were found
// are the cache's.
func (c *converter) holdKnown(st *sender, sets []labels.Labels, records []*series.Record) (held []*series.Record, missing []labels.Labels, kept bool) {
	kept = true
	for i, ls := range sets {
		switch {
		case ls.IsEmpty(): // Dropped by relabelling.
		case c.isLoose(ls, &records[i]):
			kept = false
		default:
			if records[i] = st.tenant.Records.Hold(ls); records[i] != nil {
				held = append(held, records[i])
				continue
			}
			if missing == nil {
				missing = make([]labels.Labels, 0, len(sets)-i)
			}
			missing = append(missing, ls)
		}
	}
	return held, missing, kept
}

// join gives a point its series: as a group if they are one.
func (p *point) join(records []*series.Record) {
	if r := records[0]; r != nil {
		g := r.Group()
		whole := g.Len() == len(records)
		for i := 0; whole && i < len(records); i++ {
			whole = records[i] == g.Record(i)
		}
		if whole {
			p.group = g
			return
		}
	}
	p.other = &unusual{records: records}
}

// twice reports whether a label set stands twice among those of a point:
// relabelling or repeated quantiles made two of its series one. Others cannot.
func (c *converter) twice(t *task, sets []labels.Labels) bool {
	if len(sets) == 1 || len(c.opts.Relabel) == 0 && t.metric.typ != otlp.TypeSummary {
		return false
	}
	byHash := make(map[uint64]int, len(sets))
	for i, ls := range sets {
		if ls.IsEmpty() {
			continue
		}
		hash := ls.Hash()
		if first, ok := byHash[hash]; !ok {
			byHash[hash] = i
		} else if slices.ContainsFunc(sets[first:i], func(other labels.Labels) bool { return labels.Equal(other, ls) }) {
			return true
		}
	}
	return false
}

// isLoose finds this request's own record of a label set.
func (c *converter) isLoose(ls labels.Labels, found **series.Record) bool {
	if len(c.loose) == 0 {
		return false
	}
	r := c.loose[ls.Hash()]
	if r == nil || !labels.Equal(r.Labels, ls) {
		return false
	}
	*found = r
	return true
}

// looseRecord returns this request's record for a series that the cache has no
// room for, so that duplicates within the request are found all the same.
func (c *converter) looseRecord(r *series.Record) *series.Record {
	hash := r.Labels.Hash()
	known := c.loose[hash]
	switch {
	case known == nil:
		c.loose[hash] = r
	case labels.Equal(known.Labels, r.Labels):
		return known
	}
	return r
}

// loosen makes the records of a point that was not kept this request's own, but
// for those that others hold: the same series comes to the same record.
func (c *converter) loosen(s *sender, records []*series.Record) {
	for i, r := range records {
		if r != nil && !s.tenant.Records.Known(r.Labels) {
			records[i] = c.looseRecord(r)
		}
	}
}

// unkeep gives the records of a point back for which there turned out to be no
// room, and makes them this request's own.
func (c *converter) unkeep(s *sender, p *point) {
	if p.len() == 0 {
		return
	}
	c.forget(s, p.held())
	records := make([]*series.Record, p.len())
	for i := range records {
		records[i] = p.record(i)
	}
	c.loosen(s, records)
	p.group, p.other = nil, nil
	p.join(records)
}

// forget gives records back that a point no longer uses.
func (c *converter) forget(s *sender, records iter.Seq[*series.Record]) {
	if refs := s.release(records, nil); len(refs) > 0 && c.opts.forget != nil {
		c.opts.forget(refs)
	}
}
