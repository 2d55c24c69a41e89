package series

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// An entry is found by its first spelling at once, and by others once they were
// found by meaning: four of them, since a sender that shuffles would fill the
// cache with spellings of one series.
func TestIndexAliases(t *testing.T) {
	var x Index[string]
	b := &Budget{maxBytes: 1 << 20}
	spelling := func(n int) []byte { return fmt.Appendf(nil, "spelling %d", n) }
	require.Nil(t, x.Get(spelling(0), nil))
	require.Nil(t, x.Find(spelling(0), Digest{1}, b))
	require.Zero(t, x.Len())
	require.Zero(t, b.bytes.Load(), "a miss costs nothing")

	e, kept := x.Add(spelling(0), Digest{1}, "one", 100, b)
	require.True(t, kept)
	require.Equal(t, "one", e.Value)
	for n := range MaxAliases + 3 {
		before := b.bytes.Load()
		if n > 0 {
			require.Nil(t, x.Get(spelling(n), nil))
			require.Same(t, e, x.Find(spelling(n), Digest{1}, b))
		}
		if n < MaxAliases {
			require.Same(t, e, x.Get(spelling(n), nil))
			continue
		}
		require.Nil(t, x.Get(spelling(n), nil), "spelling %d is one too many", n)
		require.Equal(t, before, b.bytes.Load())
	}
	require.Nil(t, x.Find(spelling(0), Digest{1, 1}, b), "another meaning")
	require.Equal(t, 1, x.Len())
}

// The index keeps a copy of a key: the request that it came in is gone.
func TestIndexCopiesKeys(t *testing.T) {
	var x Index[int]
	b := &Budget{maxBytes: 1 << 20}
	key := []byte("a key in a request")
	x.Add(key, Digest{1}, 1, 0, b)
	clear(key)
	require.NotNil(t, x.Get([]byte("a key in a request"), nil))
}

// A key that is too long is not kept, but its value is.
func TestIndexLongKeys(t *testing.T) {
	var x Index[int]
	b := &Budget{maxBytes: 1 << 20}
	long, longest := bytes.Repeat([]byte("k"), MaxKey+1), bytes.Repeat([]byte("k"), MaxKey)
	e, kept := x.Add(long, Digest{1}, 1, 0, b)
	require.True(t, kept)
	require.Less(t, b.bytes.Load(), int64(MaxKey))
	require.Nil(t, x.Get(long, nil))
	require.Same(t, e, x.Find(long, Digest{1}, b))
	require.Nil(t, x.Get(long, nil))
	require.Same(t, e, x.Find(longest, Digest{1}, b))
	require.Same(t, e, x.Get(longest, nil))
}

// Without room an entry serves its caller and is not found again; without room
// for a spelling only that is not kept.
func TestIndexWithoutRoom(t *testing.T) {
	var x Index[int]
	b := &Budget{maxBytes: entryCost + 10}
	e, kept := x.Add([]byte("a"), Digest{1}, 1, 11, b)
	require.False(t, kept)
	require.Equal(t, 1, e.Value)
	require.Zero(t, x.Len())
	require.Nil(t, x.Get([]byte("a"), nil))
	require.Nil(t, x.Find([]byte("a"), Digest{1}, b))
	require.Zero(t, b.bytes.Load())
	require.True(t, b.refused.Load())

	e, kept = x.Add([]byte("a"), Digest{1}, 1, 10, b)
	require.True(t, kept)
	require.Nil(t, x.Get([]byte("a"), nil))
	require.Same(t, e, x.Find([]byte("a"), Digest{1}, b))
	x.Sweep(b, func(*Entry[int]) bool { return true })
	require.Zero(t, b.bytes.Load())
}

// What came behind an entry is expected there again, and found elsewhere too.
func TestIndexNext(t *testing.T) {
	var x Index[string]
	b := &Budget{maxBytes: 1 << 20}
	entries := make(map[string]*Entry[string])
	for i, k := range []string{"a", "b", "c"} {
		entries[k], _ = x.Add([]byte(k), Digest{uint64(i)}, k, 0, b)
	}
	walk := func(keys ...string) {
		var prev *Entry[string]
		for _, k := range keys {
			e := x.Get([]byte(k), prev)
			require.Same(t, entries[k], e)
			require.Equal(t, k, e.Key())
			prev = e
		}
	}
	require.Nil(t, x.Next(nil))
	for range 2 {
		walk("a", "b", "c")
		require.Same(t, entries["a"], x.Next(nil))
		require.Same(t, entries["c"], x.Next(entries["b"]))
		walk("c", "a", "b")
		require.Same(t, entries["c"], x.Next(nil))
		require.Same(t, entries["a"], x.Next(entries["c"]))
	}
	x.Sweep(b, func(e *Entry[string]) bool { return e.Value == "a" })
	require.Nil(t, x.Next(entries["c"]), "what was dropped is not expected any more")
	require.Same(t, entries["b"], x.Next(entries["a"]), "what stays is found behind what went")
	x.Follow(entries["a"], entries["b"])
	x.Follow(entries["c"], entries["a"])
	require.Nil(t, x.Next(entries["c"]))
	require.Same(t, entries["c"], x.Next(nil))
	x.Sweep(b, func(e *Entry[string]) bool { return e.Value == "c" })
	require.Nil(t, x.Next(nil))
	walk("b")

	for i, k := range []string{"d", "e"} {
		entries[k], _ = x.Add([]byte(k), Digest{uint64(i) + 10}, k, 0, b)
	}
	walk("b", "d", "e")
	x.Sweep(b, func(e *Entry[string]) bool { return e.Value != "b" })
	require.Nil(t, x.Next(entries["d"]), "what was dropped is not expected behind what was dropped either")
}

// Random use beside a model of maps: what is found, what is dropped with all
// its spellings, and what the budget says.
func TestIndexAgainstModel(t *testing.T) {
	type model struct {
		value     int
		spellings map[string]bool
		cost      int64
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		var x Index[int]
		b := &Budget{maxBytes: int64(500 + rnd.IntN(8000))}
		entries := make(map[Digest]*model)
		size := int64(0)
		reserve := func(n int64) bool {
			if size+n > b.maxBytes {
				return false
			}
			size += n
			return true
		}
		alias := func(m *model, raw string) {
			if len(m.spellings) < MaxAliases && reserve(aliasCost+int64(len(raw))) {
				m.cost += aliasCost + int64(len(raw))
				m.spellings[raw] = true
			}
		}
		var prev *Entry[int] // also one that was dropped since
		for step := range 500 {
			meaning := rnd.IntN(30)
			d := Digest{uint64(meaning)}
			raw := fmt.Sprintf("%d in spelling %d", meaning, rnd.IntN(7))
			m := entries[d]
			e := x.Get([]byte(raw), prev)
			require.Equal(t, m != nil && m.spellings[raw], e != nil)
			if e == nil {
				e = x.Find([]byte(raw), d, b)
				require.Equal(t, m != nil, e != nil)
				if m != nil {
					alias(m, raw)
				}
			}
			if e == nil {
				extra := rnd.IntN(200)
				var kept bool
				e, kept = x.Add([]byte(raw), d, step, extra, b)
				cost := int64(entryCost + extra)
				require.Equal(t, reserve(cost), kept)
				m = &model{value: step, spellings: make(map[string]bool), cost: cost}
				if kept {
					entries[d] = m
					alias(m, raw)
				}
			}
			require.Equal(t, m.value, e.Value)
			x.Follow(prev, e)
			if prev = e; rnd.IntN(5) == 0 {
				prev = nil
			}
			if rnd.IntN(50) == 0 {
				limit := rnd.IntN(step + 1)
				x.Sweep(b, func(e *Entry[int]) bool { return e.Value < limit })
				for d, m := range entries {
					if m.value < limit {
						size -= m.cost
						delete(entries, d)
					}
				}
			}
			require.Equal(t, len(entries), x.Len())
			require.Equal(t, size, b.bytes.Load())
		}
		x.Sweep(b, func(*Entry[int]) bool { return true })
		require.Zero(t, b.bytes.Load(), "seed %d", seed)
		require.Empty(t, x.entries.slots)
	}
}

// Canonical bytes that differ have digests that differ.
func TestDigest(t *testing.T) {
	seen := make(map[Digest]bool)
	for n := range 1000 {
		b := fmt.Appendf(nil, "%d", n)
		d := DigestOf(b)
		require.False(t, seen[d])
		seen[d] = true
		require.Equal(t, d, DigestOf(b))
		require.NotEqual(t, d[0], d[1], "the halves are two hashes")
	}
}
