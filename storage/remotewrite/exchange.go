package remotewrite

import (
	"fmt"
	"net/http"

	"github.com/otlpgw/otlpgw/storage"
)

// reply is what came of one request, its repeated attempts included.
type reply struct {
	// err is set when there was no final answer: then nothing else is.
	err *storage.Error
	// verdict is accepted, refused or tooLarge.
	verdict verdict
	answer  *answer
	v2      bool
	// rows are those that the message carried: 1.0 cannot carry all.
	rows       []Row
	histograms int // among them
}

// counted reports whether the answer says how much was written.
func (r *reply) counted() bool { return r.v2 && r.answer.written.any }

// missing returns how many of the rows were not written. An answer that does
// not say was about all of them.
func (r *reply) missing() int {
	if !r.counted() {
		if r.verdict == accepted {
			return 0
		}
		return len(r.rows)
	}
	w := &r.answer.written
	return max(0, len(r.rows)-r.histograms-w.samples) + max(0, r.histograms-w.histograms)
}

// exchange sends rows as one message, again as long as the far end is away and
// the deadline allows, and in the other version if it does not know the first.
func (s *Sender) exchange(rows []Row) *reply {
	d := s.d
	v2 := d.protocol.speaksV2(d.clock.Now())
	var trial *answer // the 2.0 answer that made us try 1.0
	send := s.encode(rows, v2)
	for attempt := 0; len(send) > 0; attempt++ {
		if err := d.admit(s.ctx, s.deadline, s.standing); err != nil {
			return &reply{err: err}
		}
		a := d.post(s.ctx, min(d.o.RemoteTimeout, s.deadline.Sub(d.clock.Now())), s.body, v2, attempt, s.tenant)
		v := a.judge(v2)
		if v == doubtful && !d.protocol.doubts() {
			v = refused
		}
		if trial != nil && (v == refused || v == misconfigured && a.status == http.StatusUnsupportedMediaType) {
			// The data is what it does not like, or it knows 2.0 alone: its
			// first answer was about the data.
			a, v, v2, send = trial, refused, true, rows
		}
		d.answered(a, v, s.standing)

		switch v {
		case accepted:
			if v2 && d.protocol.acceptedV2() {
				d.metrics.fallback.Set(0)
			}
			if trial != nil {
				s.fellBack(trial)
			}
			return s.final(rows, send, a, v, v2)
		case refused, tooLarge:
			return s.final(rows, send, a, v, v2)
		case misconfigured:
			return &reply{err: storage.Unavailable(fmt.Errorf("%s: %s", d.name, a), minOpen)}
		case unknown:
			s.fellBack(a)
			v2, attempt = false, -1
			send = s.encode(rows, v2)
		case doubtful:
			trial, v2, attempt = a, false, -1
			if send = s.encode(rows, v2); len(send) == 0 {
				return s.final(rows, rows, a, refused, true) // nothing to try with
			}
		case unavailable, throttled:
			if err := s.pause(attempt, a, v); err != nil {
				return &reply{err: err}
			}
			d.metrics.retries.Inc()
		}
	}
	return s.final(rows, nil, &answer{status: http.StatusNoContent}, accepted, false)
}

// final decides the rows that the message could not carry: they are dropped.
func (s *Sender) final(rows, sent []Row, a *answer, v verdict, v2 bool) *reply {
	if len(sent) < len(rows) {
		s.d.metrics.dropped[dropNHCB].Add(float64(len(rows) - len(sent)))
		for i := range rows {
			if rows[i].isNHCB() {
				s.decide(rows[i:i+1], "")
			}
		}
	}
	r := &reply{verdict: v, answer: a, v2: v2, rows: sent}
	for i := range sent {
		if s.simple {
			break
		}
		if sent[i].isHistogram() {
			r.histograms++
		}
	}
	return r
}

func (s *Sender) fellBack(a *answer) {
	d := s.d
	if d.protocol.fellBack(d.clock.Now()) {
		d.metrics.fallback.Set(1)
		d.log.log.Warn("remote write: the destination does not know Remote-Write 2.0, it gets 1.0 from here on", "answer", a.String(), "asked_again_in", reprobeAfter)
	}
}
