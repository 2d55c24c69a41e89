package direct

import "time"

// line is the order of some targets' parts to one destination: who took a place
// first is sent first. A place is taken while its transaction is still being
// filled, and the line waits for it: until it is sealed by a commit or left by a
// rollback, which depend on conversion alone and never on a line. The lock of
// the desk guards it.
type line struct {
	head, tail *place
	busy       bool // parts of it are being sent
	ready      bool // it is among the desk's ready ones
	since      time.Time
	next       *line // that is ready
	// alone is until when its parts share no request with others.
	alone time.Time
}

// place is a part's place in a line.
type place struct {
	part       *part
	prev, next *place
	inLine     bool
	sealed     bool
	sending    bool
	accepted   bool // all of the part, by the destination
}

// take puts p at the end.
func (l *line) take(p *place) {
	p.inLine, p.prev = true, l.tail
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.next = p
	}
	l.tail = p
}

// unlink takes p out, wherever it stands.
func (l *line) unlink(p *place) {
	if p.prev == nil {
		l.head = p.next
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

// waiting returns the first part that may be sent, or nil.
func (l *line) waiting() *place {
	if l.busy || l.head == nil || !l.head.sealed {
		return nil
	}
	return l.head
}
