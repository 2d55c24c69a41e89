package remotewrite

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
)

// Refs are numbers from 1 in steps of one below a random salt, so that a ref of
// another instance is, all but surely, unknown here and not another series.
// Series are made in slabs, so that one costs no allocation and no pointer of
// its own: those that are added together are forgotten together, mostly.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	slabSize  = 16
	stripes   = 64
)

// Table holds the series that were appended, by ref and by labels, with every
// destination's form of them. It is safe for concurrent use; looking up a known
// ref takes no lock.
//
// Whoever holds refs says by [Table.Forget] which it dropped. Series that nobody
// holds a ref of would stay for ever, so beyond a maximum those go that were not
// used for the longest, roughly: their refs are then unknown, and the next
// append finds the series by its labels.
type Table struct {
	rules []Rule
	plain []bool // by destination: it has no rule
	ruled bool   // one has
	salt  uint64

	// chunks is indexed by number; the slice is replaced when it grows, and the
	// chunks whose series are all forgotten are let go.
	chunks atomic.Pointer[[]*chunk]
	grow   sync.Mutex
	last   uint64 // under grow
	live   atomic.Int64

	dict atomic.Pointer[dictionary]
	gone atomic.Int64 // forgotten since dict was begun

	max  int64
	hand uint64 // of the eviction's clock, under evicting
	// evicting is held by the one who looks for series to drop.
	evicting sync.Mutex

	stripes [stripes]stripe
}

type slab [slabSize]Series

type chunk struct {
	slabs [chunkSize / slabSize]atomic.Pointer[slab]
	// bits has, for each slab, in the lower half which of its series are there,
	// and in the upper which were used since the clock came by.
	bits [chunkSize / slabSize]atomic.Uint32
	live atomic.Int64
}

const usedBit = slabSize // where the upper half begins

// NewTable returns an empty table for destinations with these rules, that holds
// about max series.
func NewTable(max int, rules ...Rule) *Table {
	t := &Table{max: int64(max), rules: rules, salt: uint64(rand.Uint32N(1<<(63-numBits))) << numBits}
	for i := range rules {
		t.plain = append(t.plain, rules[i].idle())
		t.ruled = t.ruled || !t.plain[i]
	}
	t.chunks.Store(&[]*chunk{})
	t.dict.Store(newDictionary())
	return t
}

// Series returns the series behind ref, or, if ref is zero or not known, the
// one with the labels ls, which is added if need be. The labels are kept. Target
// is the hash of what the series belongs to: series with one target share memory.
func (t *Table) Series(ref promstorage.SeriesRef, ls labels.Labels, target uint64) *Series {
	if s := t.byRef(ref); s != nil {
		if s.template == nil || s.template.dict == t.dict.Load() {
			return s
		}
		t.drop(s) // and add it again, with numbers of the new dictionary
	}
	s, added := t.byLabels(ls, target)
	if added && t.live.Load() > t.max {
		t.evict()
	}
	return s
}

func (t *Table) byLabels(ls labels.Labels, target uint64) (s *Series, added bool) {
	hash := ls.Hash()
	st := &t.stripes[hash%stripes]
	st.mu.Lock()
	defer st.mu.Unlock()
	if num := st.find(t, hash, ls); num != 0 {
		if s := t.byNum(num); s != nil {
			return s, false
		}
	}
	s = t.add(ls, target)
	st.insert(t, hash, s.num())
	return s, true
}

// Forget drops the series behind refs; refs that are not known are ignored.
// A label set that comes back gets a new ref.
func (t *Table) Forget(refs []promstorage.SeriesRef) {
	for _, ref := range refs {
		if s := t.byRef(ref); s != nil {
			t.forget(s)
		}
	}
}

// Len returns how many series the table holds.
func (t *Table) Len() int { return int(t.live.Load()) }

// each calls f for every series.
func (t *Table) each(f func(*Series)) {
	for i, c := range *t.chunks.Load() {
		if c == nil {
			continue
		}
		for n := range uint64(chunkSize) {
			if s, _ := t.peek(uint64(i)<<chunkBits | n); s != nil {
				f(s)
			}
		}
	}
}

func (t *Table) byRef(ref promstorage.SeriesRef) *Series {
	return t.byNum(uint64(ref) ^ t.salt)
}

// byNum returns the series with that number, or nil, and notes that it is used.
func (t *Table) byNum(num uint64) *Series {
	s, bits := t.peek(num)
	if s != nil {
		// It writes only if need be, so that processors can share the line.
		if used := uint32(1) << (num%slabSize + usedBit); bits.Load()&used == 0 {
			bits.Or(used)
		}
	}
	return s
}

// peek returns the series with that number, or nil, and its slab's bits.
func (t *Table) peek(num uint64) (*Series, *atomic.Uint32) {
	chunks := *t.chunks.Load()
	i := num >> chunkBits
	if i >= uint64(len(chunks)) || chunks[i] == nil {
		return nil, nil
	}
	j := num % chunkSize / slabSize
	bits := &chunks[i].bits[j]
	slab := chunks[i].slabs[j].Load()
	if slab == nil || bits.Load()&(1<<(num%slabSize)) == 0 {
		return nil, nil
	}
	return &slab[num%slabSize], bits
}

// add makes a series with the next number.
func (t *Table) add(ls labels.Labels, target uint64) *Series {
	t.grow.Lock()
	defer t.grow.Unlock()
	t.last++
	num := t.last
	chunks := *t.chunks.Load()
	i := num >> chunkBits
	if i >= uint64(len(chunks)) {
		// Appending past the length that readers have seen is safe to share.
		chunks = append(chunks, &chunk{})
		t.chunks.Store(&chunks)
	}
	c := chunks[i]
	j := num % chunkSize / slabSize
	sl := c.slabs[j].Load()
	if sl == nil {
		sl = &slab{}
		c.slabs[j].Store(sl)
	}
	s := &sl[num%slabSize]
	s.labels, s.a = ls, num
	d := t.dict.Load()
	d.describe(&s.Form, target)
	if t.ruled {
		forms := make([]*Form, len(t.rules))
		for i := range t.rules {
			if t.plain[i] {
				continue
			}
			if out, keep := t.rules[i].apply(ls); keep {
				forms[i] = &Form{labels: out, a: num}
				d.describe(forms[i], target+uint64(i)+1)
			}
		}
		s.extra.Store(&extra{forms: forms})
	}
	c.live.Add(1)
	t.live.Add(1)
	c.bits[j].Or(1<<(num%slabSize) | 1<<(num%slabSize+usedBit)) // publishes s
	return s
}

func (t *Table) forget(s *Series) {
	if !t.drop(s) {
		return
	}
	if gone := t.gone.Add(1); gone >= max(minGone, t.live.Load()) {
		t.gone.Store(0)
		t.dict.Store(newDictionary())
	}
}

// drop takes a series out and reports whether it was there.
func (t *Table) drop(s *Series) bool {
	num := s.num()
	hash := s.labels.Hash()
	st := &t.stripes[hash%stripes]
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.remove(hash, num) {
		return false // dropped by another call
	}

	t.grow.Lock()
	defer t.grow.Unlock()
	chunks := *t.chunks.Load()
	i, j := num>>chunkBits, num%chunkSize/slabSize
	c := chunks[i]
	bits := uint32(1<<(num%slabSize) | 1<<(num%slabSize+usedBit))
	if left := c.bits[j].And(^bits) &^ bits; left == 0 && t.last/slabSize != num/slabSize {
		c.slabs[j].Store(nil)
	}
	t.live.Add(-1)
	if c.live.Add(-1) == 0 && i < t.last>>chunkBits {
		less := append([]*chunk(nil), chunks...)
		less[i] = nil
		t.chunks.Store(&less)
	}
	return true
}

// minGone keeps small tables from beginning new dictionaries over and over.
const minGone = 64 << 10

// evictSteps bounds the refs that one addition looks at: enough to find a
// victim among series of which half are in use, and few enough to go unnoticed.
const evictSteps = 64

// evict moves the hand of a clock over the refs and drops series that were not
// used since it last came by.
func (t *Table) evict() {
	if !t.evicting.TryLock() {
		return
	}
	defer t.evicting.Unlock()
	for range evictSteps {
		chunks := *t.chunks.Load()
		i := t.hand >> chunkBits
		switch {
		case i >= uint64(len(chunks)):
			t.hand = 0
			continue
		case chunks[i] == nil:
			t.hand = (i + 1) << chunkBits
			continue
		}
		s, bits := t.peek(t.hand)
		used := uint32(1) << (t.hand%slabSize + usedBit)
		t.hand++
		if s != nil && bits.And(^used)&used == 0 {
			t.forget(s)
			if t.live.Load() <= t.max {
				return
			}
		}
	}
}
