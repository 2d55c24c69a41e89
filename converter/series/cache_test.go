package series

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// state is a sender's state that notes how it was swept.
type state struct {
	refs    []storage.SeriesRef
	before  uint32
	sweeps  int
	evicted bool
}

func (s *state) Sweep(before uint32, everything bool, refs []storage.SeriesRef) []storage.SeriesRef {
	s.before = before
	s.sweeps++
	if everything {
		s.evicted = true
		refs = append(refs, s.refs...)
		s.refs = nil
	}
	return refs
}

// clock is a time that a test moves.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time                { return time.Unix(1e9, c.ns.Load()) }
func (c *clock) advance(d time.Duration)       { c.ns.Add(int64(d)) }
func (f *forgotten) add(r []storage.SeriesRef) { *f = append(*f, r...) }

type forgotten []storage.SeriesRef

// fixture is a cache with a clock.
type fixture struct {
	*Cache[*state]
	clock  *clock
	forgot *forgotten
}

func newFixture(o Options) fixture {
	f := fixture{clock: new(clock), forgot: new(forgotten)}
	f.Cache = New[*state](o, f.clock.now, f.forgot.add)
	return f
}

// add is what the converter does with a resource: look it up by its bytes, and
// read it when they are new. A resource's meaning is its text up to the first
// "~", its identity that up to the first "/".
func (f fixture) add(t *Tenant[*state], raw string) *Sender[*state] {
	if s := t.Get([]byte(raw), f.Epoch()); s != nil {
		return s
	}
	meaning, _, _ := strings.Cut(raw, "~")
	identity, _, _ := strings.Cut(meaning, "/")
	s, _ := t.Add([]byte(raw), DigestOf([]byte(meaning)), DigestOf([]byte(identity)), uint64(len(identity)), f.Epoch(), 10, new(state))
	return s
}

func TestSenders(t *testing.T) {
	f := newFixture(Options{MaxBytes: 1 << 20})
	tenant := f.Tenant("")
	require.Same(t, tenant, f.Tenant(""))
	require.Nil(t, tenant.Get([]byte("a/v1"), 0))

	s := f.add(tenant, "a/v1")
	require.Same(t, s, tenant.Get([]byte("a/v1"), 0))
	require.Same(t, s, f.add(tenant, "a/v1"))
	require.False(t, s.Gone())
	require.EqualValues(t, 1, s.Target.Hash)

	for n := range MaxAliases + 2 {
		raw := fmt.Sprintf("a/v1~%d", n)
		require.Same(t, s, f.add(tenant, raw), "another spelling of the same resource")
		require.Equal(t, n < MaxAliases-1, tenant.Get([]byte(raw), 0) != nil, "spelling %d", n)
	}
	long := "a/v1~" + strings.Repeat("x", MaxKey)
	require.Same(t, s, f.add(tenant, long))
	require.Nil(t, tenant.Get([]byte(long), 0))

	v2 := f.add(tenant, "a/v2")
	require.NotSame(t, s, v2, "another resource")
	require.Same(t, s.Target, v2.Target, "of the same job and instance")
	require.NotSame(t, s.Target, f.add(tenant, "b/v1").Target)
}

// One name, two tenants: nothing is shared.
func TestTenantsAreApart(t *testing.T) {
	f := newFixture(Options{MaxBytes: 1 << 20})
	one, two := f.Tenant("one"), f.Tenant("two")
	require.NotSame(t, one, two)
	s := f.add(one, "a/v1")
	require.Nil(t, two.Get([]byte("a/v1"), 0))
	other := f.add(two, "a/v1")
	require.NotSame(t, s, other)
	require.NotSame(t, s.Target, other.Target)
	require.NotSame(t, s.State, other.State)
}

// What is not used for the idle timeout goes, with its spellings, its target
// when nobody else has it, and its refs.
func TestIdleSendersGo(t *testing.T) {
	f := newFixture(Options{MaxBytes: 1 << 20, IdleTimeout: 10 * time.Minute})
	tenant := f.Tenant("")
	used, idle, sibling := f.add(tenant, "a/v1"), f.add(tenant, "b/v1"), f.add(tenant, "a/v2")
	f.add(tenant, "b/v1~again")
	idle.State.refs = []storage.SeriesRef{3, 4}
	sibling.State.refs = []storage.SeriesRef{5}

	f.clock.advance(10 * time.Minute)
	f.Sweep()
	for _, s := range []*Sender[*state]{used, idle, sibling} {
		require.False(t, s.Gone(), "as old as the timeout, and not older")
		require.Equal(t, 1, s.State.sweeps, "the states are swept in any case")
		require.False(t, s.State.evicted)
	}
	f.add(tenant, "a/v1")
	f.clock.advance(time.Second)
	f.Sweep()
	require.False(t, used.Gone())
	require.EqualValues(t, 1, used.State.before)
	require.True(t, idle.Gone())
	require.True(t, idle.State.evicted)
	require.True(t, sibling.Gone())
	require.ElementsMatch(t, []storage.SeriesRef{3, 4, 5}, *f.forgot)
	require.Nil(t, tenant.Get([]byte("b/v1"), 0))
	require.Nil(t, tenant.Get([]byte("b/v1~again"), 0))
	require.NotNil(t, tenant.Get([]byte("a/v1"), 0))
	require.Len(t, tenant.targets, 1)

	back := f.add(tenant, "b/v1")
	require.NotSame(t, idle, back)
	require.NotSame(t, idle.Target, back.Target)
	require.Same(t, used.Target, f.add(tenant, "a/v2").Target)

	f.clock.advance(time.Hour)
	f.Sweep()
	require.Zero(t, f.Budget.bytes.Load(), "all room was given back")
	require.Empty(t, tenant.targets)
	require.Empty(t, tenant.canon)
	for i := range tenant.shards {
		require.Empty(t, tenant.shards[i].m)
	}
}

// A sender for which there is no room serves the request at hand; the room it
// could not have makes the next sweep take back those that came once.
func TestFullCache(t *testing.T) {
	one := int64(senderCost + 10 + targetCost + aliasCost + 4)
	f := newFixture(Options{MaxBytes: 3 * one})
	tenant := f.Tenant("")
	known := f.add(tenant, "a/v1")
	f.clock.advance(time.Minute)
	require.Same(t, known, f.add(tenant, "a/v1"))
	once := []*Sender[*state]{f.add(tenant, "b/v1"), f.add(tenant, "c/v1")}
	require.False(t, f.Budget.refused.Load())

	f.clock.advance(time.Minute)
	lost := f.add(tenant, "d/v1")
	require.True(t, f.Budget.refused.Load())
	require.False(t, lost.Gone())
	require.NotNil(t, lost.Target)
	require.NotNil(t, lost.State)
	require.Nil(t, tenant.Get([]byte("d/v1"), 0))
	require.LessOrEqual(t, f.Budget.bytes.Load(), f.Budget.maxBytes)

	f.Sweep()
	require.False(t, known.Gone(), "it came twice")
	require.True(t, once[0].Gone())
	require.True(t, once[1].Gone())
	require.False(t, f.Budget.refused.Load())
	kept := f.add(tenant, "d/v1")
	require.Same(t, kept, f.add(tenant, "d/v1"))
}

// Without need nobody who is not idle goes.
func TestSweepWithRoom(t *testing.T) {
	f := newFixture(Options{MaxBytes: 1 << 20})
	tenant := f.Tenant("")
	s := f.add(tenant, "a/v1")
	for range 3 {
		f.clock.advance(time.Minute)
		f.Sweep()
	}
	require.False(t, s.Gone())
	require.Same(t, s, tenant.Get([]byte("a/v1"), f.Epoch()))
}

// Someone who found no room wakes the sweeper, which needs no minute to come.
func TestRunIsWoken(t *testing.T) {
	f := newFixture(Options{MaxBytes: senderCost + 10 + targetCost + aliasCost + 4})
	tenant := f.Tenant("")
	first := f.add(tenant, "a/v1")
	f.clock.advance(time.Minute)
	f.add(tenant, "b/v1")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	f.Count(0, 1)
	require.Eventually(t, func() bool {
		first.Target.Lock()
		defer first.Target.Unlock()
		return first.Gone()
	}, time.Minute, time.Millisecond)
	cancel()
	<-done
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	f := newFixture(Options{MaxBytes: 1 << 20})
	f.Register(nil)
	f.Register(reg)
	f.add(f.Tenant(""), "a/v1")
	f.Budget.reserve(0, 3)
	f.Count(5, 2)
	f.Count(1, 0)
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(fmt.Sprintf(`
		# HELP otlpgw_series_cache_bytes Memory the target cache holds, as accounted against cache.max_bytes.
		# TYPE otlpgw_series_cache_bytes gauge
		otlpgw_series_cache_bytes %d
		# HELP otlpgw_series_cache_entries Series the target cache holds.
		# TYPE otlpgw_series_cache_entries gauge
		otlpgw_series_cache_entries 3
		# HELP otlpgw_series_cache_hits_total Data points whose series were found by their raw bytes.
		# TYPE otlpgw_series_cache_hits_total counter
		otlpgw_series_cache_hits_total 6
		# HELP otlpgw_series_cache_misses_total Data points whose attributes had to be decoded.
		# TYPE otlpgw_series_cache_misses_total counter
		otlpgw_series_cache_misses_total 2
		`, senderCost+10+targetCost+aliasCost+4))))
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestDefaults(t *testing.T) {
	f := newFixture(Options{})
	require.EqualValues(t, 3600, f.idle)
	require.Positive(t, f.Budget.maxBytes)
	require.Zero(t, f.Budget.maxSeries)
	require.EqualValues(t, 1, newFixture(Options{IdleTimeout: time.Millisecond}).idle)
}

// Requests and sweeps at once. Whoever holds a target finds a sender that is
// not gone, its state is its own, and in the end all room is given back.
func TestConcurrently(t *testing.T) {
	f := newFixture(Options{MaxBytes: 40_000, IdleTimeout: 3 * time.Second})
	stop := make(chan struct{})
	var sweeper, workers sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				f.clock.advance(time.Second)
				f.Sweep()
			}
		}
	})
	var evicted atomic.Int64
	for worker := range 4 {
		workers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(worker), 7))
			for range 5000 {
				tenant := f.Tenant(fmt.Sprint(rnd.IntN(2)))
				raw := fmt.Sprintf("%d/%d~%d", rnd.IntN(10), rnd.IntN(3), rnd.IntN(6))
				for {
					s := f.add(tenant, raw)
					s.Target.Lock()
					if s.Gone() {
						evicted.Add(1)
						s.Target.Unlock()
						continue
					}
					if s.State.evicted {
						t.Error("swept away and not gone")
					}
					s.State.refs = append(s.State.refs[:0], 1)
					s.Target.Unlock()
					break
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	sweeper.Wait()
	f.clock.advance(time.Hour)
	f.Sweep()
	f.Sweep()
	require.Zero(t, f.Budget.bytes.Load())
}

// A spray of resources that never come again takes room from each other, and
// not from senders that export every minute, however often it fills the cache.
func TestSprayDoesNotPushOut(t *testing.T) {
	one := int64(senderCost + 10 + targetCost + aliasCost + 4)
	f := newFixture(Options{MaxBytes: 20 * one})
	tenant := f.Tenant("")
	var exporters []*Sender[*state]
	for n := range 5 {
		exporters = append(exporters, f.add(tenant, fmt.Sprintf("r%d/v", n)))
	}
	spray := 0
	for minute := range 30 {
		for n, s := range exporters {
			require.Same(t, s, f.add(tenant, fmt.Sprintf("r%d/v", n)), "minute %d", minute)
		}
		for range 60 {
			f.clock.advance(time.Second)
			for range 30 {
				spray++
				f.add(tenant, fmt.Sprintf("s%d/v", spray))
			}
			f.Sweep() // Whoever finds no room wakes it, once a second.
		}
	}
}

// A spelling that two requests bring at once is one spelling.
func TestSpellingAtOnce(t *testing.T) {
	f := newFixture(Options{MaxBytes: 1 << 20})
	tenant := f.Tenant("")
	s := f.add(tenant, "a/v1")
	size := f.Budget.bytes.Load()
	d := DigestOf([]byte("a/v1"))
	for range MaxAliases {
		again, _ := tenant.Add([]byte("a/v1"), d, d, 1, 0, 10, new(state))
		require.Same(t, s, again)
	}
	require.Equal(t, size, f.Budget.bytes.Load())
	f.add(tenant, "a/v1~other")
	require.NotNil(t, tenant.Get([]byte("a/v1~other"), 0), "there is still room for others")
}
