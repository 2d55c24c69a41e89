package remotewrite

import (
	"sync"
	"time"
)

// reprobeAfter is how long a destination that did not know 2.0 gets 1.0 before
// it is asked again: an upgrade is noticed within the hour.
const reprobeAfter = time.Hour

// protocol remembers which message a destination takes. It is safe for
// concurrent use.
type protocol struct {
	message Message

	mu          sync.Mutex
	known       bool // it has accepted a message of 2.0
	legacy      bool
	legacyUntil time.Time
}

// speaksV2 says which message to send now. When it is time to ask again, one
// caller is told 2.0.
func (p *protocol) speaksV2(now time.Time) bool {
	if p.message == MessageV1 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.legacy {
		return true
	}
	if now.Before(p.legacyUntil) {
		return false
	}
	p.legacyUntil = now.Add(reprobeAfter)
	return true
}

// fellBack notes that the destination does not know 2.0 and reports whether
// that is news.
func (p *protocol) fellBack(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := !p.legacy
	p.legacy, p.known = true, false
	p.legacyUntil = now.Add(reprobeAfter)
	return news
}

// acceptedV2 notes that the destination took a message of 2.0 and reports
// whether it used not to.
func (p *protocol) acceptedV2() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := p.legacy
	p.known, p.legacy = true, false
	return news
}

// doubts reports whether a 400 may be a receiver of 1.0 that does not know the
// message: it has never accepted one, and the user did not say that it does.
func (p *protocol) doubts() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.message == MessageAuto && !p.known
}
