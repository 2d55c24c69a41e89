package series

import "slices"

// MaxAliases is how many raw spellings of one canonical value are kept. A
// sender that shuffles its attributes on every request would otherwise fill
// the cache with spellings of one series.
const MaxAliases = 4

// MaxKey is the longest raw key kept, in bytes. Longer ones take the canonical
// look-up each time: slower, never different.
const MaxKey = 16 << 10

// Costs of what an index keeps, in bytes, for the budget: a slot with its share
// of free ones, and the entry's own header with the slot of its meaning.
const (
	slotCost  = 28
	aliasCost = slotCost
	entryCost = 96 - 40 + slotCost
)

// Index finds values of one kind below one parent. The zero value is empty and
// ready. It is guarded by the lock of the target it belongs to.
//
// Senders repeat themselves: what came behind an entry the last time is compared
// first, and only what comes in another order is looked up.
type Index[V any] struct {
	// entries has every entry under its digest and under the hashes of its
	// spellings.
	entries table[Entry[V]]
	n       int
	first   *Entry[V] // what a request began with the last time
}

// Entry is a canonical value and how often it is known by raw bytes.
type Entry[V any] struct {
	Value  V
	key    string    // its first spelling
	others *[]string // further ones, nil for none
	next   *Entry[V] // what came behind it the last time
	check  uint64    // the half of its digest under which it does not stand
	// Used is the [Cache.Epoch] of the last use.
	Used    uint32
	aliases uint8
	cost    int32
}

// Key returns the entry's first spelling, if it is known by raw bytes.
func (e *Entry[V]) Key() string { return e.key }

// Next returns what came behind prev the last time, or first of all for nil.
// It may be nil.
func (x *Index[V]) Next(prev *Entry[V]) *Entry[V] {
	e := x.first
	if prev != nil {
		e = prev.next
	}
	if e != nil && e.aliases == gone {
		return nil // Prev is gone itself.
	}
	return e
}

// Get returns the entry behind raw bytes that were seen before, or nil. Prev is
// the entry before it in the request, nil for none.
func (x *Index[V]) Get(raw []byte, prev *Entry[V]) *Entry[V] {
	if e := x.Next(prev); e != nil && e.key == string(raw) {
		return e
	}
	hash := hashOf(raw)
	for i := x.entries.first(hash); i >= 0; i = x.entries.after(i, hash) {
		if e := x.entries.slots[i].value; e.spelled(raw) {
			x.Follow(prev, e)
			return e
		}
	}
	return nil
}

// spelled reports whether the entry is known by raw bytes.
func (e *Entry[V]) spelled(raw []byte) bool {
	if e.aliases == 0 {
		return false
	}
	if e.key == string(raw) {
		return true
	}
	return e.others != nil && slices.Contains(*e.others, string(raw))
}

// Follow notes that e came behind prev. Of entries that are not known by raw
// bytes nothing is noted.
func (x *Index[V]) Follow(prev, e *Entry[V]) {
	switch {
	case e.aliases == 0 || e.aliases == gone:
	case prev == nil:
		x.first = e
	case prev.aliases != gone:
		prev.next = e
	}
}

// Find returns the entry of a meaning and remembers raw as one of its
// spellings when there is room, or returns nil.
func (x *Index[V]) Find(raw []byte, d Digest, b *Budget) *Entry[V] {
	for i := x.entries.first(d[0]); i >= 0; i = x.entries.after(i, d[0]) {
		if e := x.entries.slots[i].value; e.check == d[1] {
			x.alias(raw, e, b)
			return e
		}
	}
	return nil
}

// Add stores v under its meaning and its first spelling. The cost of v itself
// is size bytes. Without room in the budget the entry is returned but not kept.
func (x *Index[V]) Add(raw []byte, d Digest, v V, size int, b *Budget) (e *Entry[V], kept bool) {
	e = &Entry[V]{Value: v, check: d[1]}
	if !b.reserve(entryCost+size, 0) {
		return e, false
	}
	e.cost = int32(entryCost + size)
	x.entries.add(d[0], e)
	x.n++
	x.alias(raw, e, b)
	return e, true
}

func (x *Index[V]) alias(raw []byte, e *Entry[V], b *Budget) {
	if e.aliases >= MaxAliases || len(raw) > MaxKey || !b.reserve(aliasCost+len(raw), 0) {
		return
	}
	e.aliases++
	e.cost += int32(aliasCost + len(raw))
	if e.aliases == 1 {
		e.key = string(raw)
	} else if e.others == nil {
		e.others = &[]string{string(raw)}
	} else {
		*e.others = append(*e.others, string(raw))
	}
	x.entries.add(hashOf(raw), e)
}

// Resize notes that the value of a kept entry takes by bytes more than before.
func (x *Index[V]) Resize(e *Entry[V], by int, b *Budget) {
	if e.cost > 0 {
		e.cost += int32(by)
		b.release(-by, 0)
	}
}

// Len returns how many canonical values there are.
func (x *Index[V]) Len() int { return x.n }

// Sweep drops the entries for which drop returns true, with all their
// spellings. It may ask more than once about one that stays.
func (x *Index[V]) Sweep(b *Budget, drop func(*Entry[V]) bool) {
	dropped := 0
	x.entries.each(func(e *Entry[V]) bool { // Each comes as often as it is spelled.
		if e.aliases != gone && drop(e) {
			b.release(int(e.cost), 0)
			e.aliases, e.cost = gone, 0
			dropped++
		}
		return true
	})
	if dropped == 0 {
		return
	}
	x.n -= dropped
	x.entries.filter(func(e *Entry[V]) bool {
		if e.aliases != gone && e.next != nil && e.next.aliases == gone {
			e.next = nil
		}
		return e.aliases != gone
	})
	if x.first != nil && x.first.aliases == gone {
		x.first = nil
	}
}

// gone marks entries on their way out.
const gone = MaxAliases + 1
