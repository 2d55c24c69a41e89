package series

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/storage"
)

// sweepEvery is how often idle senders and series are looked for.
const sweepEvery = time.Minute

// Run ages out what is idle, and makes room when the budget is exhausted,
// until ctx ends.
func (c *Cache[S]) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.Sweep()
		case <-c.wake:
			c.Sweep()
			// New senders may keep asking for room that is not there.
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}
}

// Sweep drops what was idle for the idle timeout. When something found no room
// since the last sweep, a quarter of it is enough, and the senders that were
// seen in one request only go beside. So a spray of random resources cannot push
// the real ones out: sweeps follow each other by the second then, and a sender
// that exports every minute is silent in most of them. One target is locked at a
// time.
func (c *Cache[S]) Sweep() {
	c.sweeping.Lock() // Two at once could take out what came after the first.
	defer c.sweeping.Unlock()
	full := c.Budget.refused.Swap(false)
	epoch := c.Epoch()
	idle := c.idle
	if full {
		idle /= 4
	}
	before := uint32(0)
	if epoch > idle {
		before = epoch - idle
	}
	c.EachTenant(func(t *Tenant[S]) { t.sweep(before, epoch, full) })
}

func (t *Tenant[S]) sweep(before, epoch uint32, full bool) {
	t.mu.Lock()
	senders := make([]*Sender[S], 0, len(t.canon))
	for _, s := range t.canon {
		senders = append(senders, s)
	}
	t.mu.Unlock()
	var refs []storage.SeriesRef
	live := make(map[*Target]struct{}, len(senders))
	for _, s := range senders {
		used := s.used.Load()
		evict := used < before || full && used < epoch && !s.known.Load()
		if evict {
			t.remove(s)
		} else {
			live[s.Target] = struct{}{}
		}
		s.Target.Lock()
		s.gone = evict
		refs = s.State.Sweep(before, evict, refs)
		s.Target.Unlock()
	}
	t.dropTargets(live)
	if len(refs) > 0 && t.cache.forget != nil {
		t.cache.forget(refs)
	}
}

// remove takes a sender out of the look-ups.
func (t *Tenant[S]) remove(s *Sender[S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.canon, s.digest)
	for _, key := range s.aliases {
		shard := t.shard([]byte(key))
		shard.mu.Lock()
		delete(shard.m, key)
		shard.mu.Unlock()
	}
	t.cache.Budget.release(s.cost, 0)
	s.aliases, s.cost = nil, 0
}

// dropTargets forgets the targets that no sender refers to. Live is a snapshot;
// senders that came since are in t.canon.
func (t *Tenant[S]) dropTargets(live map[*Target]struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.canon {
		live[s.Target] = struct{}{}
	}
	for d, target := range t.targets {
		if _, ok := live[target]; !ok {
			delete(t.targets, d)
			t.cache.Budget.release(targetCost, 0)
		}
	}
}
