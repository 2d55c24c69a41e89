package remotewrite

import (
	"math/bits"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// stripe finds some of a table's series by their labels: an open table of
// numbers, since a map would cost as much as the series themselves. A slot
// holds a series' number below 24 bits of its hash; 0 is free, and a number of
// zero below a hash was somebody's.
type stripe struct {
	mu    sync.Mutex
	slots []uint64
	full  int // slots that are not free
	live  int
}

const (
	slotNum = 1<<numBits - 1
	removed = 1 << numBits
)

// start returns where to look for a hash first.
func (s *stripe) start(hash uint64) int {
	hi, _ := bits.Mul64(hash, uint64(len(s.slots)))
	return int(hi)
}

// tag is what of a hash is kept. Its lowest bits say which stripe it is, its
// highest where to look.
func tag(hash uint64) uint64 { return hash >> 6 << numBits }

func (s *stripe) next(i int) int {
	if i++; i == len(s.slots) {
		return 0
	}
	return i
}

// find returns the number of the series with the labels ls, or zero.
func (s *stripe) find(t *Table, hash uint64, ls labels.Labels) uint64 {
	if s.live == 0 {
		return 0
	}
	want := tag(hash)
	for i := s.start(hash); s.slots[i] != 0; i = s.next(i) {
		num := s.slots[i] & slotNum
		if num == 0 || s.slots[i]&^slotNum != want {
			continue
		}
		if series, _ := t.peek(num); series != nil && labels.Equal(series.labels, ls) {
			return num
		}
	}
	return 0
}

// insert adds a series that is not there.
func (s *stripe) insert(t *Table, hash, num uint64) {
	if s.full >= len(s.slots)*4/5 {
		s.rebuild(t)
	}
	i := s.start(hash)
	for s.slots[i] != 0 {
		i = s.next(i)
	}
	s.slots[i] = tag(hash) | num
	s.full++
	s.live++
}

// remove takes a series out and reports whether it was there.
func (s *stripe) remove(hash, num uint64) bool {
	if s.live == 0 {
		return false
	}
	for i := s.start(hash); s.slots[i] != 0; i = s.next(i) {
		if s.slots[i]&slotNum == num {
			s.slots[i] = removed
			s.live--
			return true
		}
	}
	return false
}

// rebuild makes room for a quarter more, or gives some back if many were removed.
func (s *stripe) rebuild(t *Table) {
	old := s.slots
	s.slots = make([]uint64, (s.live+1)*8/5+8)
	s.full = s.live
	for _, slot := range old {
		num := slot & slotNum
		if num == 0 {
			continue
		}
		series, _ := t.peek(num)
		i := s.start(series.labels.Hash())
		for s.slots[i] != 0 {
			i = s.next(i)
		}
		s.slots[i] = slot
	}
}
