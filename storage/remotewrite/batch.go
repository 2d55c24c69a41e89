package remotewrite

import (
	"time"

	"github.com/otlpgw/otlpgw/storage"
)

// Batch is what goes out together, all of it of one tenant.
type Batch struct {
	// Tenant is told to the destination in its TenantHeader; empty tells none.
	Tenant string
	// Deadline is when nobody waits for the batch any more.
	Deadline time.Time
	Units    []Unit
}

// Unit is what one transaction has in a batch.
type Unit struct {
	// Parts are the samples, those of one series in the order of their appends.
	Parts [][]Sample
}

// Outcome is what became of a unit.
type Outcome struct {
	// Err is set when the unit, or the rest of it, could not be delivered for
	// now: KindUnavailable or KindThrottled. Some of it may have been.
	Err *storage.Error
	// Refused is what the far end refused for good; ranges may overlap.
	Refused []storage.Refusal
	// Alone says that the unit's targets should travel in batches of their own
	// for a while: others had to be sent again because of them.
	Alone bool
}

// unit is the state of a Unit while its batch is sent.
type unit struct {
	rows    int // all of them
	left    int // those that are not decided
	probes  int // requests that were spent on finding what is refused
	settled bool
	out     Outcome
}

// batch is what a Sender is sending.
type batch struct {
	units  []unit
	rows   int // of all units
	settle func(int, Outcome)
	// decided holds the rows that were decided while others of their unit were
	// not, for the case that these fail.
	decided []decision
}

type decision struct {
	row    Row
	reason string // why it was refused; empty if it was accepted
}

func (b *batch) reset() {
	if cap(b.units) > maxKeptRows || cap(b.decided) > maxKeptRows {
		*b = batch{}
		return
	}
	clear(b.units)
	clear(b.decided)
	b.units, b.decided, b.settle, b.rows = b.units[:0], b.decided[:0], nil, 0
}

// decide takes rows off their units and settles those that have no more.
func (s *Sender) decide(rows []Row, reason string) {
	if s.d.o.ZeroSamples {
		s.d.zeros.sent(s.tenant, rows)
	}
	for i := range rows {
		s.batch.units[rows[i].unit].left--
	}
	if len(rows) == s.batch.rows {
		// All there is was in one request.
		for i := range s.batch.units {
			s.settleUnit(int32(i))
		}
		return
	}
	for i := range rows {
		u := &s.batch.units[rows[i].unit]
		switch {
		case u.settled:
		case u.left == 0:
			s.settleUnit(rows[i].unit)
		default:
			s.batch.decided = append(s.batch.decided, decision{rows[i], reason})
		}
	}
}

func (s *Sender) settleUnit(i int32) {
	u := &s.batch.units[i]
	if u.settled {
		return
	}
	u.settled = true
	if u.out.Err != nil {
		s.d.recent.keep(s.tenant, s.batch.decided, i)
	}
	s.batch.settle(int(i), u.out)
}

// accept notes that rows were accepted, by the answer a if that was about them
// alone.
func (s *Sender) accept(rows []Row, a *answer) {
	s.d.metrics.samples.Add(float64(len(rows)))
	if a != nil && a.written.any && !s.enc.noExemplars && !s.simple {
		exemplars := 0
		for i := range rows {
			exemplars += len(rows[i].Exemplars)
		}
		s.d.metrics.refusedExemplars.Add(float64(max(0, exemplars-a.written.exemplars)))
	}
	s.decide(rows, "")
}

// refuse notes that rows, of one unit, were refused.
func (s *Sender) refuse(rows []Row, a *answer) {
	reason := s.d.name + ": " + a.reason()
	u := &s.batch.units[rows[0].unit]
	u.out.Refused = refuse(u.out.Refused, rows, reason)
	u.out.Alone = u.out.Alone || len(s.batch.units) > 1
	s.d.metrics.refused.Add(float64(len(rows)))
	s.decide(rows, reason)
}

// refuseSome notes that n of rows, of one unit, were refused, who knows which.
func (s *Sender) refuseSome(rows []Row, n int, a *answer) {
	if n >= len(rows) {
		s.refuse(rows, a)
		return
	}
	u := &s.batch.units[rows[0].unit]
	u.out.Refused = refuseSome(u.out.Refused, rows, n, s.d.name+": "+a.reason())
	u.out.Alone = u.out.Alone || len(s.batch.units) > 1
	s.d.metrics.samples.Add(float64(len(rows) - n))
	s.d.metrics.refused.Add(float64(n))
	for i := range rows {
		s.batch.units[rows[i].unit].left--
	}
	if u.left == 0 {
		s.settleUnit(rows[0].unit)
	}
}

// fail ends the units of rows for now.
func (s *Sender) fail(rows []Row, err *storage.Error) {
	for i := range rows {
		if u := &s.batch.units[rows[i].unit]; !u.settled {
			u.out.Err = err
			s.settleUnit(rows[i].unit)
		}
	}
}

// open returns the rows whose units are not settled.
func (s *Sender) open(rows []Row) []Row {
	for i := range rows {
		if s.batch.units[rows[i].unit].settled {
			out := append([]Row(nil), rows[:i]...)
			for _, r := range rows[i+1:] {
				if !s.batch.units[r.unit].settled {
					out = append(out, r)
				}
			}
			return out
		}
	}
	return rows
}

// shared reports whether rows are of more than one unit.
func shared(rows []Row) bool {
	for i := range rows {
		if rows[i].unit != rows[0].unit {
			return true
		}
	}
	return false
}
