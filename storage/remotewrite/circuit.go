package remotewrite

import (
	"sync"
	"time"
)

// A destination whose answer speaks of its own configuration is left alone for
// a while, so that clients get their 503 at once instead of after a round trip
// each, and the far end is not asked for every request.
const (
	minOpen = 5 * time.Second
	maxOpen = time.Minute
)

// circuit is that memory. It is safe for concurrent use.
type circuit struct {
	mu      sync.Mutex
	open    bool
	until   time.Time
	pause   time.Duration
	probing bool
}

// admit returns zero when a request may go out, and otherwise how long to leave
// the destination alone. Of an open circuit whose time is over, one caller gets
// in as the probe and must report by [circuit.answered].
func (c *circuit) admit(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.open:
		return 0
	case now.Before(c.until):
		return c.until.Sub(now)
	case c.probing:
		return minOpen
	}
	c.probing = true
	return 0
}

// answered reports what came of an admitted request: the destination's fault,
// or another answer, or (neither) none at all. It reports whether the circuit
// opened or closed by that.
func (c *circuit) answered(now time.Time, fault, other bool) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
	switch {
	case fault:
		// Of several requests in flight, the first opens.
		if c.open && now.Before(c.until) {
			return false
		}
		c.pause = min(max(2*c.pause, minOpen), maxOpen)
		c.until = now.Add(c.pause)
		changed, c.open = !c.open, true
		return changed
	case other && c.open:
		c.open, c.pause = false, 0
		return true
	}
	return false
}
