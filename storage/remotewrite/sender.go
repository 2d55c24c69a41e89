package remotewrite

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/otlpgw/otlpgw/storage"
)

// Sender delivers batches to one destination, one request at a time. Its
// buffers are reused. It is not safe for concurrent use.
type Sender struct {
	d       *Destination
	enc     *Encoder
	seq     sequence
	classic classicScratch
	rows    []Row
	less    []Row // rows without what 1.0 cannot carry
	raw     []byte
	body    *payload
}

// Outcome is what became of a batch.
type Outcome struct {
	// Err is set when the batch, or the rest of it, could not be delivered for
	// now: KindUnavailable or KindThrottled. Some of it may have been.
	Err *storage.Error
	// Refused is what the far end refused for good; ranges may overlap.
	Refused []storage.Refusal
}

// NewSender returns a Sender to d.
func (d *Destination) NewSender() *Sender {
	return &Sender{d: d, enc: NewEncoder(), body: &payload{}}
}

// Send delivers the samples in requests of at most MaxSamplesPerSend and
// returns when all are accepted or refused, or when the deadline, by the
// destination's clock, does not allow another attempt. The samples must not
// change meanwhile; nothing of them is kept.
func (s *Sender) Send(ctx context.Context, deadline time.Time, samples []Sample) Outcome {
	defer s.reset()
	rows := s.seq.order(s.prepare(samples))
	var out Outcome
	for len(rows) > 0 && out.Err == nil {
		n := min(len(rows), s.d.o.MaxSamplesPerSend)
		s.deliver(ctx, deadline, rows[:n], &out)
		rows = rows[n:]
	}
	return out
}

// prepare makes the destination's rows of samples.
func (s *Sender) prepare(samples []Sample) []Row {
	o := &s.d.o
	rows := s.rows[:0]
	for i := range samples {
		sm := &samples[i]
		form := sm.Series.forms[s.d.index]
		if form == nil {
			continue // a rule drops it
		}
		r := Row{Form: form, Meta: sm.Meta, N: sm.N, T: sm.T, ST: sm.ST, V: sm.V, H: sm.H, FH: sm.FH}
		if o.SendExemplars {
			r.Exemplars = sm.Exemplars
		}
		switch {
		case o.ConvertNHCBToClassic && r.isNHCB():
			more, err := s.classic.appendClassic(rows, r)
			if err != nil {
				s.d.metrics.dropped[dropConversion].Inc()
				continue
			}
			rows = more
		case r.isHistogram() && !o.SendNativeHistograms:
			s.d.metrics.dropped[dropNative].Inc()
		default:
			rows = append(rows, r)
		}
	}
	s.rows = rows
	return rows
}

// deliver sends rows as one request, or as several if they are too large.
func (s *Sender) deliver(ctx context.Context, deadline time.Time, rows []Row, out *Outcome) {
	d := s.d
	v2 := d.protocol.speaksV2(d.clock.Now())
	var trial *answer // the 2.0 answer that made us try 1.0
	send := s.encode(rows, v2)
	for attempt := 0; len(send) > 0; attempt++ {
		if out.Err = d.admit(ctx, deadline); out.Err != nil {
			return
		}
		a := d.post(ctx, min(d.o.RemoteTimeout, deadline.Sub(d.clock.Now())), s.body, v2, attempt)
		v := a.judge(v2)
		if v == doubtful && !d.protocol.doubts() {
			v = refused
		}
		if trial != nil && (v == refused || v == misconfigured && a.status == http.StatusUnsupportedMediaType) {
			// The data is what it does not like, or it knows 2.0 alone: its
			// first answer was about the data.
			a, v, v2, send = trial, refused, true, rows
		}
		d.answered(a, v)

		switch v {
		case accepted:
			if v2 && d.protocol.acceptedV2() {
				d.metrics.fallback.Set(0)
			}
			if trial != nil {
				s.fellBack(trial)
			}
			s.settle(send, a, v2, out)
			d.metrics.dropped[dropNHCB].Add(float64(len(rows) - len(send)))
			return
		case refused:
			s.settle(send, a, v2, out)
			return
		case tooLarge:
			s.split(ctx, deadline, rows, a, out)
			return
		case misconfigured:
			out.Err = storage.Unavailable(fmt.Errorf("%s: %s", d.name, a), minOpen)
			return
		case unknown:
			s.fellBack(a)
			v2, attempt = false, -1
			send = s.encode(rows, v2)
		case doubtful:
			trial, v2, attempt = a, false, -1
			if send = s.encode(rows, v2); len(send) == 0 {
				s.settle(rows, a, true, out) // nothing to try with
				return
			}
		case unavailable, throttled:
			if out.Err = s.pause(ctx, deadline, attempt, a, v); out.Err != nil {
				return
			}
		}
	}
	// 1.0 cannot carry any of it.
	d.metrics.dropped[dropNHCB].Add(float64(len(rows)))
}

func (s *Sender) fellBack(a *answer) {
	d := s.d
	if d.protocol.fellBack(d.clock.Now()) {
		d.metrics.fallback.Set(1)
		d.log.log.Warn("remote write: the destination does not know Remote-Write 2.0, it gets 1.0 from here on", "answer", a.String(), "asked_again_in", reprobeAfter)
	}
}

// settle counts an answer that is final.
func (s *Sender) settle(rows []Row, a *answer, v2 bool, out *Outcome) {
	d := s.d
	ok := a.status >= 200 && a.status < 300
	var refusals []storage.Refusal
	exemplars, wrote := 0, len(rows)
	if v2 {
		reason := d.name + ": " + a.String()
		if ok {
			reason += ": wrote less than it was sent"
		}
		if refusals = refuse(rows, a.written, false, reason); ok && len(refusals) > 0 {
			d.log.write(refused, slog.LevelWarn, "remote write: the destination wrote less than it was sent", slog.String("answer", a.String()))
		}
		samples, histograms := 0, 0
		for i := range rows {
			exemplars += len(rows[i].Exemplars)
			if rows[i].isHistogram() {
				histograms++
			} else {
				samples++
			}
		}
		wrote = min(a.written.samples, samples) + min(a.written.histograms, histograms)
		d.metrics.refusedExemplars.Add(float64(max(0, exemplars-a.written.exemplars)))
	} else if !ok {
		refusals = refuse(rows, written{}, true, d.name+": "+a.String())
		wrote = 0
	}
	d.metrics.samples.Add(float64(wrote))
	d.metrics.refused.Add(float64(len(rows) - wrote))
	out.Refused = append(out.Refused, refusals...)
}

// split sends what was too large in halves. A single sample that is too large
// is refused.
func (s *Sender) split(ctx context.Context, deadline time.Time, rows []Row, a *answer, out *Outcome) {
	if len(rows) == 1 {
		s.d.metrics.refused.Inc()
		out.Refused = append(out.Refused, refuse(rows, written{}, true, s.d.name+": "+a.String())...)
		return
	}
	half := len(rows) / 2
	s.deliver(ctx, deadline, rows[:half], out)
	if out.Err == nil {
		s.deliver(ctx, deadline, rows[half:], out)
	}
}

// reset lets go of what the batch held.
func (s *Sender) reset() {
	if cap(s.rows) > maxKeptRows {
		s.rows = nil
	}
	if cap(s.less) > maxKeptRows {
		s.less = nil
	}
	clear(s.rows[:cap(s.rows)])
	clear(s.less[:cap(s.less)])
	s.seq.reset()
	s.classic.reset()
	if cap(s.raw) > maxKeptScratch {
		s.raw = nil
	}
	if cap(s.body.bytes) > maxKeptScratch {
		s.body = &payload{}
	}
}
