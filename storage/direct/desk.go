package direct

import (
	"sync"
	"time"

	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// desk is where the parts for one destination wait, and where it is decided
// which of them share a request: what is first in its line, of as many lines as
// there is room for, and then what is next in these. A line has one request in
// flight, the destination as many as it has shards.
//
// With nothing in flight what waits goes out at once, so that a lone sender
// waits for nobody. Otherwise it goes when there is a request full of it, or
// when it has waited for BatchMaxWait, or when the last request in flight is
// answered: the slower the far end, the more commits share a request.
type desk struct {
	b           *Backend
	index       int
	destination *remotewrite.Destination
	o           remotewrite.DestinationOptions

	mu           sync.Mutex
	lines        []line
	first, last  *line // that are ready, by since
	readySamples int   // of the first parts of these
	inFlight     int   // workers that send or are about to
	idle         []*worker
	timer        *time.Timer
	armed        bool
	closed       bool
	workers      sync.WaitGroup
}

func newDesk(b *Backend, index int, d *remotewrite.Destination, lines int) *desk {
	return &desk{b: b, index: index, destination: d, o: d.Options(), lines: make([]line, lines)}
}

// take puts p at the end of a line.
func (d *desk) take(line int, p *place) {
	d.mu.Lock()
	d.lines[line].take(p)
	d.mu.Unlock()
}

// isLast reports whether nobody has a place behind p.
func (d *desk) isLast(line int, p *place) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lines[line].tail == p
}

// seal says that the part of p is complete.
func (d *desk) seal(line int, p *place) {
	d.destination.AddPending(p.part.used)
	d.mu.Lock()
	p.sealed = true
	l := &d.lines[line]
	if l.head == p {
		d.queue(l)
	}
	d.dispatch()
	d.mu.Unlock()
}

// leave gives the place up, unless it is being sent or was, and reports that.
func (d *desk) leave(line int, p *place) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !p.inLine || p.sending {
		return false
	}
	l := &d.lines[line]
	if l.head != p {
		d.unlink(l, p)
		return true
	}
	d.unqueue(l)
	d.unlink(l, p)
	d.queue(l)
	d.dispatch()
	return true
}

// unlink is called with mu held, when l is not among the ready.
func (d *desk) unlink(l *line, p *place) {
	if p.sealed {
		d.destination.AddPending(-p.part.used)
	}
	l.unlink(p)
}

// queue puts l among the ready ones if it is ready. It is called with mu held.
func (d *desk) queue(l *line) {
	p := l.waiting()
	if p == nil || l.ready {
		return
	}
	l.ready, l.since, l.next = true, time.Now(), nil
	if d.last == nil {
		d.first = l
	} else {
		d.last.next = l
	}
	d.last = l
	d.readySamples += len(p.part.samples)
}

// unqueue takes l from the ready ones. It is called with mu held.
func (d *desk) unqueue(l *line) {
	if !l.ready {
		return
	}
	d.readySamples -= len(l.head.part.samples)
	var before *line
	for at := d.first; at != l; at = at.next {
		before = at
	}
	if before == nil {
		d.first = l.next
	} else {
		before.next = l.next
	}
	if d.last == l {
		d.last = before
	}
	l.ready, l.next = false, nil
}

// due reports whether a batch should go out now. It is called with mu held.
func (d *desk) due() bool {
	return d.first != nil && d.inFlight < d.o.Shards &&
		(d.inFlight == 0 || d.closed || d.readySamples >= d.o.MaxSamplesPerSend || time.Since(d.first.since) >= d.o.BatchMaxWait)
}

// dispatch wakes a worker if there is a batch to send, and sees to it that
// somebody comes back when what waits is old enough. It is called with mu held.
func (d *desk) dispatch() {
	switch {
	case d.due():
		d.inFlight++
		if n := len(d.idle); n > 0 {
			w := d.idle[n-1]
			d.idle = d.idle[:n-1]
			w.wake <- struct{}{}
			return
		}
		w := &worker{d: d, sender: d.destination.NewSender(), wake: make(chan struct{}, 1)}
		d.workers.Go(w.run)
	case d.first != nil && d.inFlight < d.o.Shards && !d.armed:
		d.armed = true
		wait := max(0, d.o.BatchMaxWait-time.Since(d.first.since))
		if d.timer == nil {
			d.timer = time.AfterFunc(wait, d.ring)
		} else {
			d.timer.Reset(wait)
		}
	}
}

func (d *desk) ring() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
	d.dispatch()
}

// fill picks what goes into the next batch, of the tenant who waits longest. It
// is called with mu held, and it returns with the lines of the batch busy.
func (d *desk) fill(w *worker) {
	if d.first == nil {
		return
	}
	now := d.b.o.Clock.Now()
	tenant := d.first.head.part.tenant
	samples, bytes := 0, int64(0)
	fits := func(p *part) bool {
		return p.tenant == tenant && (samples == 0 || samples+len(p.samples) <= d.o.MaxSamplesPerSend && bytes+p.used <= int64(d.o.MaxBytesPerSend))
	}
	add := func(l *line, p *place) {
		p.sending = true
		samples += len(p.part.samples)
		bytes += p.part.used
		w.add(p)
	}
	for l := d.first; l != nil && samples < d.o.MaxSamplesPerSend; {
		next := l.next
		if alone := now.Before(l.alone); alone && samples == 0 {
			d.pick(w, l, add)
			return
		} else if !alone && fits(l.head.part) {
			d.pick(w, l, add)
		}
		l = next
	}
	for _, l := range w.lines {
		for p := l.head.next; p != nil && p.sealed && fits(p.part); p = p.next {
			add(l, p)
		}
	}
}

// pick takes a ready line into the batch, with its first part.
func (d *desk) pick(w *worker, l *line, add func(*line, *place)) {
	p := l.head
	d.unqueue(l)
	l.busy = true
	w.lines = append(w.lines, l)
	add(l, p)
}

// settled takes the places of one unit out of their lines. Alone keeps others
// from sharing requests with what comes next in these lines.
func (d *desk) settled(places []*place, accepted, alone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range places {
		l := &d.lines[p.part.line]
		d.unlink(l, p)
		p.accepted = accepted
		if alone {
			l.alone = d.b.o.Clock.Now().Add(aloneFor)
		}
	}
}

// accepted reports whether the destination has accepted all of the part.
func (d *desk) accepted(p *place) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.accepted
}

// aloneFor is how long a line has requests of its own after others had to be
// sent again because of it.
const aloneFor = 5 * time.Minute

// free lets the lines of a batch go on. It reports whether the worker has
// another batch to send, and otherwise whether it is to wait for one.
func (d *desk) free(w *worker) (again, stay bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range w.lines {
		l.busy = false
		d.queue(l)
	}
	clear(w.lines)
	w.lines = w.lines[:0]
	d.inFlight--
	if d.due() {
		d.inFlight++
		return true, true
	}
	if !d.closed {
		d.idle = append(d.idle, w)
	}
	d.dispatch()
	return false, !d.closed
}

// oldest returns since when the first of what waits in the lines has waited, or
// zero if nothing does.
func (d *desk) oldest() time.Time {
	var since time.Time
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.lines {
		for p := d.lines[i].head; p != nil; p = p.next {
			if p.sealed {
				if since.IsZero() || p.part.since.Before(since) {
					since = p.part.since
				}
				break
			}
		}
	}
	return since
}

// close ends the workers when everything that waits has been sent, or has
// failed to be.
func (d *desk) close() {
	d.mu.Lock()
	d.closed = true
	if d.timer != nil {
		d.timer.Stop()
	}
	d.dispatch()
	for _, w := range d.idle {
		close(w.wake)
	}
	d.idle = nil
	d.mu.Unlock()
	d.workers.Wait()
}
