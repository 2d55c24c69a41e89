package series

// table finds values by a hash and by what only the caller can compare: it is
// the caller who looks at every value under a hash. The zero value is empty and
// ready.
//
// Slots lie behind one another and are probed in line, so that a look-up costs
// one cache miss, and a million values take 16 bytes each and the free slots.
type table[T any] struct {
	slots []slot[T] // a power of two, or none
	n     int
}

type slot[T any] struct {
	hash  uint64
	value *T // nil for a free slot
}

// Free slots are a quarter of all at least, and five eighths after growth.
const (
	minSlots     = 8
	fullQuarters = 3
)

// first returns the index of the first value under a hash, or -1.
func (t *table[T]) first(hash uint64) int {
	if len(t.slots) == 0 {
		return -1
	}
	return t.from(t.home(hash), hash)
}

// after returns the index of the next value under a hash behind that at i, or
// -1.
func (t *table[T]) after(i int, hash uint64) int { return t.from(i+1, hash) }

func (t *table[T]) from(i int, hash uint64) int {
	mask := len(t.slots) - 1
	for ; ; i++ {
		s := &t.slots[i&mask]
		if s.value == nil {
			return -1
		}
		if s.hash == hash {
			return i & mask
		}
	}
}

// home returns where a hash would like to be. Its upper bits are mixed in: those
// who shard by the lower ones use tables too.
func (t *table[T]) home(hash uint64) int {
	return int((hash ^ hash>>32) * 0x9e3779b97f4a7c15 >> 32 & uint64(len(t.slots)-1))
}

// add adds a value under a hash, beside those that are there.
func (t *table[T]) add(hash uint64, v *T) {
	if (t.n+1)*4 > len(t.slots)*fullQuarters {
		t.grow()
	}
	t.put(hash, v)
	t.n++
}

func (t *table[T]) put(hash uint64, v *T) {
	mask := len(t.slots) - 1
	i := t.home(hash)
	for t.slots[i&mask].value != nil {
		i++
	}
	t.slots[i&mask] = slot[T]{hash, v}
}

func (t *table[T]) grow() {
	old := t.slots
	t.slots = make([]slot[T], max(minSlots, 2*len(old)))
	for _, s := range old {
		if s.value != nil {
			t.put(s.hash, s.value)
		}
	}
}

// remove takes the value at index i out. Indexes found before are void.
func (t *table[T]) remove(i int) {
	mask := len(t.slots) - 1
	t.n--
	for j := i; ; {
		j = (j + 1) & mask
		s := t.slots[j]
		if s.value == nil {
			break
		}
		// What stands at j may move to i unless its home lies between them.
		if (j-t.home(s.hash))&mask >= (j-i)&mask {
			t.slots[i] = s
			i = j
		}
	}
	t.slots[i] = slot[T]{}
}

// filter takes out what keep does not keep, and the room that it took.
func (t *table[T]) filter(keep func(*T) bool) {
	old := t.slots
	n := 0
	for i := range old {
		if v := old[i].value; v != nil {
			if keep(v) {
				n++
			} else {
				old[i].value = nil
			}
		}
	}
	size := 0
	if n > 0 {
		for size = minSlots; n*4 > size*fullQuarters; size *= 2 {
		}
	}
	t.slots, t.n = make([]slot[T], size), n
	for _, s := range old {
		if s.value != nil {
			t.put(s.hash, s.value)
		}
	}
}

// each calls f for every value, until it returns false.
func (t *table[T]) each(f func(*T) bool) bool {
	for i := range t.slots {
		if v := t.slots[i].value; v != nil && !f(v) {
			return false
		}
	}
	return true
}
