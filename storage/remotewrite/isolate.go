package remotewrite

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/otlpgw/otlpgw/storage"
)

// A refusal speaks of a request, and a request may carry the samples of many
// senders. What was refused is narrowed down by smaller requests. Those are new
// requests and not repeated attempts: they carry no Retry-Attempt header, and
// the specification's rule that a 4xx is not retried is about the same bytes.

const (
	// maxProbes bounds the smaller requests that are spent on one unit.
	maxProbes = 64
	// maxFutile bounds those of them that the far end writes nothing of, when it
	// says so: then it is believed that it will not write any of the unit.
	maxFutile = 20
)

// request delivers rows.
func (s *Sender) request(rows []Row) {
	r := s.exchange(rows)
	switch {
	case r.err != nil:
		s.fail(rows, r.err)
	case len(r.rows) == 0:
	case r.verdict == tooLarge:
		s.split(r)
	case r.missing() == 0:
		s.accept(r.rows, r.answer)
	default:
		if r.verdict == accepted {
			s.d.log.write(refused, slog.LevelWarn, "remote write: the destination wrote less than it was sent", slog.String("answer", r.answer.String()))
		}
		if shared(r.rows) {
			s.isolate(r)
		} else {
			s.narrow(r)
		}
	}
}

// split sends what was too large in halves. A single sample that is too large
// is refused.
func (s *Sender) split(r *reply) {
	if len(r.rows) == 1 {
		s.refuse(r.rows, r.answer)
		return
	}
	a, b := halves(slices.Clone(r.rows))
	s.request(a)
	if b = s.open(b); len(b) > 0 {
		s.request(b)
	}
}

// isolate sends the units of a refused request once more, each alone, so that a
// refusal reaches the one it is about.
func (s *Sender) isolate(r *reply) {
	missing := -1 // of all, if the far end says
	if r.counted() {
		missing = r.missing()
	}
	all := slices.Clone(r.rows)
	var held []*reply
	again := 0
	for len(all) > 0 {
		var rows, rest []Row
		for _, row := range all {
			if row.unit == all[0].unit {
				rows = append(rows, row)
			} else {
				rest = append(rest, row)
			}
		}
		all = rest
		s.d.metrics.probes.Inc()
		alone := s.exchange(rows)
		switch {
		case alone.err != nil:
			s.fail(rows, alone.err)
		case len(alone.rows) == 0:
		case alone.verdict == tooLarge:
			s.split(alone)
		case alone.missing() == 0:
			s.accept(alone.rows, alone.answer)
		default:
			alone.rows = slices.Clone(alone.rows)
			held = append(held, alone)
			again += alone.missing()
		}
	}
	if missing >= 0 && again > missing {
		s.blame(held, missing, r.answer)
		return
	}
	for _, alone := range held {
		s.narrow(alone)
	}
}

// blame is for far ends that refuse what they have: of the units that were
// refused when they were sent again, only missing samples were not written the
// first time. Those are whose answer is the one that all got together: what is
// refused for being there already has another. If all answers are alike nobody
// can tell, and each sender hears of it rather than none.
func (s *Sender) blame(held []*reply, missing int, first *answer) {
	alike := func(r *reply) bool { return r.answer.String() == first.String() }
	if !slices.ContainsFunc(held, alike) {
		alike = func(*reply) bool { return true }
	}
	for _, r := range held {
		if missing > 0 && alike(r) {
			s.refuseSome(r.rows, min(missing, r.missing()), first)
		} else {
			s.accept(r.rows, nil)
		}
	}
}

// narrow finds which rows of a refused request, all of one unit, are refused.
func (s *Sender) narrow(r *reply) {
	missing := r.missing()
	switch {
	case len(r.rows) == 1 && r.rows[0].zero:
		// The zero at its start may be what is refused.
		s.d.zeros.sent(s.tenant, r.rows)
		s.request(slices.Clone(r.rows))
	case len(r.rows) == 1:
		s.refuse(r.rows, r.answer)
	case missing == len(r.rows):
		s.halve(slices.Clone(r.rows), r)
	case missing == 1:
		// One sample is one point, whichever it is.
		s.refuseSome(r.rows, 1, r.answer)
	default:
		s.locate(slices.Clone(r.rows), missing, r.answer)
	}
}

// probe sends a part of a unit. It returns nil when the unit has had its probes.
func (s *Sender) probe(rows []Row) *reply {
	u := &s.batch.units[rows[0].unit]
	if u.probes == maxProbes {
		return nil
	}
	u.probes++
	s.d.metrics.probes.Inc()
	return s.exchange(rows)
}

// halve finds the refused ones of rows of which nothing was written, as the
// answer to r says of these or more.
func (s *Sender) halve(rows []Row, r *reply) {
	a, b := halves(rows)
	joined := a[len(a)-1].Form == b[0].Form // then all of a comes before b
	whole, ok := s.half(a, b, r)
	if !ok {
		return
	}
	if whole == nil {
		// a is written, so b has all that is refused. One sample is asked for
		// alone all the same: what is said to be lost was refused by itself.
		if len(b) > 1 {
			s.halve(b, r)
			return
		}
		if p, ok := s.half(b, nil, r); ok && p != nil {
			s.narrow(p)
		}
		return
	}
	if joined {
		s.narrow(whole)
	}
	if b = s.open(b); len(b) == 0 {
		return
	}
	second, ok := s.half(b, nil, r)
	if !joined {
		if rest := s.open(whole.rows); len(rest) > 0 {
			s.narrow(whole)
		}
	}
	if ok && second != nil {
		if rest := s.open(second.rows); len(rest) > 0 {
			s.narrow(second)
		}
	}
}

// half sends half and returns the reply if something of it was refused. It is
// not ok when that cannot be found out: then half and rest have been decided.
func (s *Sender) half(half, rest []Row, r *reply) (refusal *reply, ok bool) {
	u := &s.batch.units[half[0].unit]
	p := s.probe(half)
	switch {
	case p == nil:
		s.undecided(half, rest, r)
		return nil, false
	case p.err != nil:
		s.fail(half, p.err)
		return nil, false
	case len(p.rows) == 0:
		return nil, true
	case p.missing() == 0:
		s.accept(p.rows, p.answer)
		return nil, true
	case r.counted() && u.probes >= maxFutile && u.left == u.rows:
		s.undecided(p.rows, rest, r)
		return nil, false
	}
	p.rows = slices.Clone(p.rows)
	return p, true
}

// undecided ends the search. A far end that counts has said that it wrote none
// of it; another may have refused it for a fault that lies elsewhere.
func (s *Sender) undecided(half, rest []Row, r *reply) {
	u := &s.batch.units[half[0].unit]
	if r.counted() {
		s.refuse(half, r.answer)
		if len(rest) > 0 {
			s.refuse(rest, r.answer)
		}
		return
	}
	u.out.Alone = true
	s.fail(half, storage.Unavailable(fmt.Errorf("%s: what it refuses of the request was not found with %d smaller ones: %s", s.d.name, maxProbes, r.answer), 0))
}

// locate finds the refused ones of rows, of which so many were not written as
// the answer a says. The others are there already, so it asks for one half and
// knows the other. If the far end refuses what it has, or does not answer, the
// number stands.
func (s *Sender) locate(rows []Row, missing int, a *answer) {
	switch {
	case missing == 0:
		s.accept(rows, nil)
		return
	case missing == len(rows):
		s.refuse(rows, a)
		return
	}
	first, second := halves(rows)
	p := s.probe(first)
	if p != nil && p.err == nil && len(p.rows) < len(first) {
		// It has forgotten 2.0 meanwhile, and 1.0 does not carry all.
		rows = append(slices.Clone(p.rows), second...)
	}
	if p == nil || p.err != nil || !p.counted() || p.missing() > missing || missing-p.missing() > len(second) {
		s.refuseSome(rows, missing, a)
		return
	}
	found := p.missing()
	s.locate(first, found, p.answer)
	s.locate(second, missing-found, a)
}

// halves cuts rows in two, between two series if there are two.
func halves(rows []Row) (a, b []Row) {
	n := len(rows) / 2
	for i := range n {
		if at := n + i; at < len(rows) && rows[at].Form != rows[at-1].Form {
			return rows[:at], rows[at:]
		}
		if at := n - i; at > 0 && rows[at].Form != rows[at-1].Form {
			return rows[:at], rows[at:]
		}
	}
	return rows[:n], rows[n:]
}
