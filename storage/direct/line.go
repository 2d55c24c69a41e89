package direct

import (
	"context"
	"sync"
	"time"

	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// line is the order of one shard to one destination: who took a place first is
// sent first, one at a time. A place is taken while its transaction is still
// being filled, and the line waits for it: until it is sealed by a commit or
// left by a rollback, which depend on conversion alone and never on a line.
type line struct {
	destination *remotewrite.Destination
	sender      *remotewrite.Sender

	mu         sync.Mutex
	head, tail *place
	wake       chan struct{} // holds one signal that head may have changed
}

// place is a part's place in a line; line.mu guards it.
type place struct {
	part       *part
	prev, next *place
	inLine     bool
	sealed     bool
	sending    bool
}

func newLine(d *remotewrite.Destination) *line {
	return &line{destination: d, sender: d.NewSender(), wake: make(chan struct{}, 1)}
}

// take puts p at the end.
func (l *line) take(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.inLine, p.prev = true, l.tail
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.next = p
	}
	l.tail = p
}

// isLast reports whether nobody has a place behind p.
func (l *line) isLast(p *place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail == p
}

// seal says that the part of p is complete.
func (l *line) seal(p *place) {
	l.destination.AddPending(p.part.used)
	l.mu.Lock()
	defer l.mu.Unlock()
	p.sealed = true
	if l.head == p {
		l.signal()
	}
}

// leave gives the place up, unless it is being sent or was, and reports that.
func (l *line) leave(p *place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.inLine || p.sending {
		return false
	}
	l.unlink(p)
	return true
}

// unlink is called with mu held.
func (l *line) unlink(p *place) {
	if p.sealed {
		l.destination.AddPending(-p.part.used)
	}
	if p.prev == nil {
		l.head = p.next
		l.signal()
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.inLine, p.prev, p.next = false, nil, nil
}

func (l *line) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run sends what is at the head until ctx ends; what is in line then fails.
func (l *line) run(ctx context.Context) {
	for {
		p := l.first()
		if p == nil {
			select {
			case <-l.wake:
			case <-ctx.Done():
				if l.first() == nil {
					return
				}
			}
			continue
		}
		l.send(ctx, p)
	}
}

// first returns the place at the head as the one being sent, or nil if there is
// none that is sealed.
func (l *line) first() *place {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head == nil || !l.head.sealed {
		return nil
	}
	l.head.sending = true
	return l.head
}

func (l *line) send(ctx context.Context, p *place) {
	part := p.part
	out := l.sender.Send(ctx, part.deadline, part.samples)
	if out.Err != nil && !l.destination.Required() {
		l.destination.Lost(len(part.samples))
	}
	l.mu.Lock()
	l.unlink(p)
	l.mu.Unlock()
	if l.destination.Required() {
		part.settlement.add(l, out)
	}
	part.left()
}

// oldest returns since when the first of what waits in the lines has waited, or
// zero if nothing does.
func oldest(lines []*line) time.Time {
	var since time.Time
	for _, l := range lines {
		l.mu.Lock()
		for p := l.head; p != nil; p = p.next {
			if p.sealed {
				if since.IsZero() || p.part.since.Before(since) {
					since = p.part.since
				}
				break
			}
		}
		l.mu.Unlock()
	}
	return since
}
