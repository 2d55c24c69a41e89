package series

import (
	"hash/maphash"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/storage"
)

// State is what the converter knows about one sender. Its Sweep is called
// under the lock of the sender's target.
type State interface {
	// Sweep drops what was not used since epoch before, or everything, gives
	// its room back to the tenant, and appends the refs of series that nobody
	// holds any more.
	Sweep(before uint32, everything bool, refs []storage.SeriesRef) []storage.SeriesRef
}

// Cache finds senders by the raw bytes of their resource. One cache belongs to
// one backend, since refs never cross backends. It is safe for concurrent use.
type Cache[S State] struct {
	// Budget is shared by everything below the cache.
	Budget Budget

	perMetric bool
	idle      uint32 // seconds
	forget    func([]storage.SeriesRef)
	now       func() time.Time
	start     time.Time

	mu      sync.RWMutex
	tenants map[string]*Tenant[S]

	sweeping     sync.Mutex
	hits, misses atomic.Uint64
	wake         chan struct{}
}

// defaultMaxBytes is the budget of a process without a memory limit.
const defaultMaxBytes = 1 << 30

// New returns a cache for one backend. Forget is told which refs nobody holds
// any more; nil ignores them.
func New[S State](o Options, now func() time.Time, forget func([]storage.SeriesRef)) *Cache[S] {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
		if limit := debug.SetMemoryLimit(-1); limit < 1<<50 {
			o.MaxBytes = limit / 4
		}
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = time.Hour
	}
	c := &Cache[S]{
		perMetric: o.CountPerMetric,
		idle:      uint32(max(1, o.IdleTimeout/time.Second)),
		forget:    forget,
		now:       now,
		start:     now(),
		tenants:   make(map[string]*Tenant[S]),
		wake:      make(chan struct{}, 1),
	}
	c.Budget.maxBytes, c.Budget.maxSeries = o.MaxBytes, int64(o.MaxSeries)
	return c
}

// Epoch returns the cache's coarse clock: seconds since it was made.
func (c *Cache[S]) Epoch() uint32 { return c.EpochAt(c.now()) }

// EpochAt returns what the coarse clock says at a time of the cache's clock.
func (c *Cache[S]) EpochAt(now time.Time) uint32 { return uint32(now.Sub(c.start) / time.Second) }

// Tenant returns the tenant's part of the cache, made if need be. Who may be a
// tenant is decided before.
func (c *Cache[S]) Tenant(name string) *Tenant[S] {
	c.mu.RLock()
	t := c.tenants[name]
	c.mu.RUnlock()
	if t != nil {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tenants[name]; t != nil {
		return t
	}
	t = &Tenant[S]{
		Name:    name,
		cache:   c,
		seed:    maphash.MakeSeed(),
		canon:   make(map[Digest]*Sender[S]),
		targets: make(map[Digest]*Target),
	}
	t.Records.perMetric = c.perMetric
	c.tenants[name] = t
	return t
}

// EachTenant calls f for every tenant.
func (c *Cache[S]) EachTenant(f func(*Tenant[S])) {
	c.mu.RLock()
	tenants := slices.Collect(maps.Values(c.tenants))
	c.mu.RUnlock()
	for _, t := range tenants {
		f(t)
	}
}

// Count adds a request's look-ups to the cache's metrics, and wakes the
// sweeper when something found no room.
func (c *Cache[S]) Count(hits, misses int) {
	c.hits.Add(uint64(hits))
	c.misses.Add(uint64(misses))
	if c.Budget.refused.Load() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// Tenant is one tenant's senders, targets and series.
type Tenant[S State] struct {
	Name    string
	Records Records

	cache  *Cache[S]
	seed   maphash.Seed
	shards [aliasShards]aliasShard[S]

	mu      sync.Mutex
	canon   map[Digest]*Sender[S]
	targets map[Digest]*Target
}

const aliasShards = 64

type aliasShard[S State] struct {
	mu sync.RWMutex
	m  map[string]*Sender[S]
}

// Target is what job and instance name: the unit of locking and of order.
// Several senders may be one target.
type Target struct {
	sync.Mutex
	// Hash places the target in a backend's line. It is the same for one
	// tenant, job and instance in every process.
	Hash uint64
	// Info is which target_info of the target is live.
	Info Info
}

// Info is the target_info of one target. There is at most one live at a time.
type Info struct {
	// Live is the one that is written, Before the one it replaced at SinceMs of
	// the gateway's clock.
	Live, Before *Record
	SinceMs      int64
	// NewestMs is the newest time at which it was claimed to be live, by
	// transaction Txn. The marks of the records do not tell: they may be guarded
	// by another target's lock.
	NewestMs int64
	Txn      uint32
}

// Sender is one resource, in all its spellings.
type Sender[S State] struct {
	Target *Target
	// State is guarded by Target.
	State S

	used    atomic.Uint32
	known   atomic.Bool // used by a second request
	gone    bool        // guarded by Target: look it up again
	digest  Digest
	aliases []string // guarded by Tenant.mu
	cost    int
}

// Gone reports whether the sender was evicted since it was found. The caller
// holds the target's lock; a sender that is gone must be looked up again.
func (s *Sender[S]) Gone() bool { return s.gone }

// Touch notes a use.
func (s *Sender[S]) touch(epoch uint32) {
	if s.used.Load() != epoch {
		s.used.Store(epoch)
	}
	if !s.known.Load() {
		s.known.Store(true)
	}
}

func (t *Tenant[S]) shard(raw []byte) *aliasShard[S] {
	return &t.shards[maphash.Bytes(t.seed, raw)%aliasShards]
}

// Get returns the sender behind raw bytes that were seen before, or nil.
func (t *Tenant[S]) Get(raw []byte, epoch uint32) *Sender[S] {
	shard := t.shard(raw)
	shard.mu.RLock()
	s := shard.m[string(raw)]
	shard.mu.RUnlock()
	if s != nil {
		s.touch(epoch)
	}
	return s
}

// Costs of a sender and of a target, in bytes.
const (
	senderCost = 256
	targetCost = 96
)

// Add returns the sender with the given meaning and makes it when it is new.
// Raw becomes one of its spellings when there is room. Its target belongs to
// all senders with the same identity. State, which takes size bytes, is what a
// new sender gets. One for which there is no room serves the caller's request
// alone: kept is false.
func (t *Tenant[S]) Add(raw []byte, meaning, identity Digest, hash uint64, epoch uint32, size int, state S) (s *Sender[S], kept bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.canon[meaning]; s != nil {
		s.touch(epoch)
		t.alias(raw, s)
		return s, true
	}
	b := &t.cache.Budget
	target := t.targets[identity]
	if target == nil {
		target = &Target{Hash: hash}
		if b.reserve(targetCost, 0) {
			t.targets[identity] = target
		}
	}
	s = &Sender[S]{Target: target, State: state, digest: meaning}
	s.used.Store(epoch)
	if cost := senderCost + size; b.reserve(cost, 0) {
		s.cost = cost
		t.canon[meaning] = s
		t.alias(raw, s)
		kept = true
	}
	return s, kept
}

// Alone returns a sender that no cache knows, with a target of its own.
func Alone[S State](state S, hash uint64) *Sender[S] {
	return &Sender[S]{Target: &Target{Hash: hash}, State: state}
}

// alias remembers a spelling, which another request may have brought meanwhile;
// the caller holds t.mu.
func (t *Tenant[S]) alias(raw []byte, s *Sender[S]) {
	if len(s.aliases) >= MaxAliases || len(raw) > MaxKey || slices.Contains(s.aliases, string(raw)) ||
		!t.cache.Budget.reserve(aliasCost+len(raw), 0) {
		return
	}
	s.cost += aliasCost + len(raw)
	key := string(raw)
	s.aliases = append(s.aliases, key)
	shard := t.shard(raw)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.m == nil {
		shard.m = make(map[string]*Sender[S])
	}
	shard.m[key] = s
}
