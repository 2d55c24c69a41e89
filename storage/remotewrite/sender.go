package remotewrite

import (
	"context"
	"time"
)

// Sender delivers batches to one destination, one request at a time. Its
// buffers are reused. It is not safe for concurrent use.
type Sender struct {
	d       *Destination
	table   *Table
	enc     *Encoder
	seq     sequence
	classic classicScratch
	rows    []Row
	simple  bool  // none of them is a histogram or has exemplars
	less    []Row // rows without what 1.0 cannot carry
	raw     []byte
	body    *payload
	batch   batch

	// Of the batch.
	ctx      context.Context
	deadline time.Time
	tenant   string
	standing *standing
}

// NewSender returns a Sender to d.
func (d *Destination) NewSender() *Sender {
	enc := NewEncoder(d.table)
	enc.noExemplars, enc.noMetadata, enc.noStart = !d.o.SendExemplars, !d.o.SendMetadata, !d.o.SendStartTimestamps
	return &Sender{d: d, table: d.table, enc: enc, body: &payload{}}
}

// Send delivers the units of a batch in requests of at most MaxSamplesPerSend
// samples and calls settle for each unit, once, as soon as its outcome is known:
// all of it accepted or refused, or no time for another attempt before the
// batch's deadline, by the destination's clock. It returns after the last one. The
// samples of a unit must not change until it is settled; nothing of them is kept.
//
// What the far end refuses of one unit does not touch the others: each is then
// sent once more, alone.
func (s *Sender) Send(ctx context.Context, b Batch, settle func(unit int, out Outcome)) {
	s.ctx, s.deadline, s.batch.settle = ctx, b.Deadline, settle
	s.tenant, s.standing = b.Tenant, s.d.standings.of(b.Tenant)
	s.prepare(b.Units)
	rows := s.seq.order(s.rows)
	for i := range s.batch.units {
		if s.batch.units[i].left == 0 {
			s.settleUnit(int32(i)) // nothing to send
		}
	}
	for len(rows) > 0 {
		n := s.cut(rows)
		s.request(rows[:n])
		rows = s.open(rows[n:])
	}
	s.reset()
}

// cut returns how many rows go into one request.
func (s *Sender) cut(rows []Row) int {
	n := min(len(rows), s.d.o.MaxSamplesPerSend)
	if s.simple && n*rowBytes <= s.d.o.MaxBytesPerSend {
		return n
	}
	size := 0
	for i := range n {
		if size += rows[i].size(); size > s.d.o.MaxBytesPerSend && i > 0 {
			return i
		}
	}
	return n
}

// rowBytes is about what a number takes in a message.
const rowBytes = 64

// size estimates the bytes of a row in a message, beyond those of its labels.
func (r *Row) size() int {
	switch {
	case r.FH != nil:
		return rowBytes + 8*(len(r.FH.PositiveBuckets)+len(r.FH.NegativeBuckets)+len(r.FH.CustomValues)+len(r.FH.PositiveSpans)+len(r.FH.NegativeSpans))
	case r.H != nil:
		return rowBytes + 3*(len(r.H.PositiveBuckets)+len(r.H.NegativeBuckets)) + 8*(len(r.H.CustomValues)+len(r.H.PositiveSpans)+len(r.H.NegativeSpans))
	}
	return rowBytes
}

// prepare makes the destination's rows of the units' samples.
func (s *Sender) prepare(units []Unit) {
	s.rows, s.simple = s.rows[:0], true
	recall := s.d.recent.any()
	for i := range units {
		s.batch.units = append(s.batch.units, unit{})
		before := len(s.rows)
		for _, part := range units[i].Parts {
			s.prepareUnit(part, int32(i))
		}
		if recall {
			s.recall(int32(i), before)
		}
		u := &s.batch.units[i]
		u.rows = len(s.rows) - before
		u.left = u.rows
	}
	s.batch.rows = len(s.rows)
}

func (s *Sender) prepareUnit(samples []Sample, unit int32) {
	d := s.d
	plain := d.table.plain[d.index]
	rows := s.rows
	for i := range samples {
		sm := &samples[i]
		form := &sm.Series.Form
		if !plain {
			if form = sm.Series.To(d.table, d.index); form == nil {
				continue // a rule drops it
			}
		}
		r := Row{Sample: sm, Form: form, unit: unit}
		if len(sm.Exemplars) > 0 {
			s.simple = false
		}
		if !sm.isHistogram() {
			rows = append(rows, r)
			continue
		}
		s.simple = false
		switch {
		case d.o.ConvertNHCBToClassic && sm.isNHCB():
			more, err := s.classic.appendClassic(rows, r)
			if err != nil {
				d.metrics.dropped[dropConversion].Inc()
				continue
			}
			rows = more
		case !d.o.SendNativeHistograms:
			d.metrics.dropped[dropNative].Inc()
		default:
			rows = append(rows, r)
		}
	}
	s.rows = rows
}

// recall takes rows of a unit out that the destination has decided on before,
// in an attempt that then failed for another reason.
func (s *Sender) recall(unit int32, from int) {
	u := &s.batch.units[unit]
	kept := s.rows[:from]
	for _, r := range s.rows[from:] {
		reason, known := s.d.recent.find(s.tenant, &r)
		switch {
		case !known:
			kept = append(kept, r)
		case reason != "":
			u.out.Refused = refuse(u.out.Refused, []Row{r}, reason)
		}
	}
	s.rows = kept
}

// reset lets go of what the batch held.
func (s *Sender) reset() {
	s.ctx, s.tenant, s.standing = nil, "", nil
	if cap(s.rows) > maxKeptRows {
		s.rows = nil
	}
	if cap(s.less) > maxKeptRows {
		s.less = nil
	}
	clear(s.rows)
	clear(s.less)
	s.rows, s.less = s.rows[:0], s.less[:0]
	s.seq.reset()
	s.classic.reset()
	s.batch.reset()
	if cap(s.raw) > maxKeptScratch {
		s.raw = nil
	}
	if cap(s.body.bytes) > maxKeptScratch {
		s.body = &payload{}
	}
}
