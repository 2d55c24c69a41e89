package gateway

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// gate bounds the bytes in flight. It never makes anybody wait: whoever waits
// for memory holds memory, and that is how a gate deadlocks.
type gate struct {
	max  int64
	used atomic.Int64
}

// grow takes n bytes more for a holder of held bytes and reports whether it
// may. A holder that is alone always may. Two that race for the last bytes may
// both be refused, which is what a full gate looks like to both.
func (g *gate) grow(held, n int64) bool {
	if used := g.used.Add(n); used > g.max && used-n > held {
		g.used.Add(-n)
		return false
	}
	return true
}

// shrink gives n bytes back.
func (g *gate) shrink(n int64) { g.used.Add(-n) }

// full reports whether the gate would refuse a newcomer.
func (g *gate) full() bool { return g.used.Load() >= g.max }

// short reports whether there is little left.
func (g *gate) short() bool { return g.used.Load() >= g.max/4*3 }

// busyBytes is the answer of a full gate.
func (g *gate) busyBytes() error {
	return &failure{outcomeBusy, fmt.Sprintf("the gateway is busy: requests in flight hold all of the %s it allows", sizeText(g.max))}
}

// slots bounds the requests being inflated and converted at once.
type slots struct {
	free chan struct{}
	wait time.Duration
}

func newSlots(n int, wait time.Duration) *slots {
	return &slots{free: make(chan struct{}, n), wait: wait}
}

// acquire takes a slot, waiting for one until ctx ends or the wait is over.
func (s *slots) acquire(ctx context.Context) error {
	select {
	case s.free <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(s.wait)
	defer t.Stop()
	select {
	case s.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return &failure{outcomeBusy, fmt.Sprintf("the gateway is busy: none of its %d conversion slots became free within %s", cap(s.free), s.wait)}
	}
}

// release gives a slot back.
func (s *slots) release() { <-s.free }

// sizeText prints n bytes as people do: 64 MiB, 1500 bytes.
func sizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
