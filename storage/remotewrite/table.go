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
const (
	refBits   = 40
	chunkBits = 10
	chunkSize = 1 << chunkBits
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
	salt  uint64

	// chunks is indexed by ref; the slice is replaced when it grows, and the
	// chunks whose series are all forgotten are let go.
	chunks atomic.Pointer[[]*chunk]
	grow   sync.Mutex
	last   uint64 // under grow
	live   atomic.Int64

	max  int64
	hand uint64 // of the eviction's clock, under evicting
	// evicting is held by the one who looks for series to drop.
	evicting sync.Mutex

	stripes [stripes]stripe
}

type chunk struct {
	series [chunkSize]atomic.Pointer[Series]
	live   atomic.Int64
}

type stripe struct {
	mu     sync.Mutex
	byHash map[uint64]*Series
}

// NewTable returns an empty table for destinations with these rules, that holds
// about max series.
func NewTable(max int, rules ...Rule) *Table {
	t := &Table{max: int64(max), rules: rules, salt: uint64(rand.Uint32N(1<<(63-refBits))) << refBits}
	t.chunks.Store(&[]*chunk{})
	for i := range t.stripes {
		t.stripes[i].byHash = map[uint64]*Series{}
	}
	return t
}

// Series returns the series behind ref, or, if ref is zero or not known, the
// one with the labels ls, which is added if need be. The labels are kept.
func (t *Table) Series(ref promstorage.SeriesRef, ls labels.Labels) *Series {
	if s := t.byRef(ref); s != nil {
		s.use()
		return s
	}
	s, added := t.byLabels(ls)
	if added && t.live.Load() > t.max {
		t.evict()
	}
	return s
}

func (t *Table) byLabels(ls labels.Labels) (s *Series, added bool) {
	hash := ls.Hash()
	st := &t.stripes[hash%stripes]
	st.mu.Lock()
	defer st.mu.Unlock()
	for s := st.byHash[hash]; s != nil; s = s.next {
		if labels.Equal(s.labels, ls) {
			s.use()
			return s, false
		}
	}
	s = &Series{labels: ls, hash: hash, next: st.byHash[hash]}
	s.use()
	s.forms = t.forms(s)
	t.number(s)
	st.byHash[hash] = s
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

// each calls f for every series, with a lock of the table held.
func (t *Table) each(f func(*Series)) {
	for i := range t.stripes {
		st := &t.stripes[i]
		st.mu.Lock()
		for _, s := range st.byHash {
			for ; s != nil; s = s.next {
				f(s)
			}
		}
		st.mu.Unlock()
	}
}

func (t *Table) byRef(ref promstorage.SeriesRef) *Series {
	n := uint64(ref) ^ t.salt
	chunks := *t.chunks.Load()
	i := n >> chunkBits
	if i >= uint64(len(chunks)) || chunks[i] == nil {
		return nil
	}
	return chunks[i].series[n%chunkSize].Load()
}

func (t *Table) forms(s *Series) []*Form {
	forms := make([]*Form, len(t.rules))
	for i := range t.rules {
		if out, keep := t.rules[i].apply(s.labels); keep {
			forms[i] = &Form{series: s, labels: out}
		}
	}
	return forms
}

// number gives s the next ref.
func (t *Table) number(s *Series) {
	t.grow.Lock()
	defer t.grow.Unlock()
	t.last++
	s.ref = promstorage.SeriesRef(t.last ^ t.salt)
	chunks := *t.chunks.Load()
	i := t.last >> chunkBits
	if i >= uint64(len(chunks)) {
		// Appending past the length that readers have seen is safe to share.
		chunks = append(chunks, &chunk{})
		t.chunks.Store(&chunks)
	}
	chunks[i].live.Add(1)
	t.live.Add(1)
	chunks[i].series[t.last%chunkSize].Store(s)
}

func (t *Table) forget(s *Series) {
	st := &t.stripes[s.hash%stripes]
	st.mu.Lock()
	defer st.mu.Unlock()
	var prev *Series
	for c := st.byHash[s.hash]; c != s; c = c.next {
		if c == nil {
			return // forgotten by another call
		}
		prev = c
	}
	switch {
	case prev != nil:
		prev.next = s.next
	case s.next != nil:
		st.byHash[s.hash] = s.next
	default:
		delete(st.byHash, s.hash)
	}

	n := uint64(s.ref) ^ t.salt
	t.grow.Lock()
	defer t.grow.Unlock()
	chunks := *t.chunks.Load()
	i := n >> chunkBits
	chunks[i].series[n%chunkSize].Store(nil)
	t.live.Add(-1)
	if chunks[i].live.Add(-1) == 0 && i < t.last>>chunkBits {
		less := append([]*chunk(nil), chunks...)
		less[i] = nil
		t.chunks.Store(&less)
	}
}

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
		s := chunks[i].series[t.hand%chunkSize].Load()
		t.hand++
		if s != nil && !s.used.Swap(false) {
			t.forget(s)
			if t.live.Load() <= t.max {
				return
			}
		}
	}
}
