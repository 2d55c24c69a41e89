package remotewrite

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// collisions finds series of one destination that 1.0's escaping makes equal.
// It costs nothing until a series needs escaping, which with the default
// translation none does; from then on a hash per series.
type collisions struct {
	table *Table

	active atomic.Bool // seen is there

	mu   sync.Mutex
	seen map[uint64]uint64 // number of the series, by hash of its labels
}

// prepare makes the 1.0 labels of a form, once, and reports whether they are
// those of another live series.
func (c *collisions) prepare(f *Form, index int) (collides bool) {
	if !f.escaped() && !c.active.Load() {
		return false
	}
	if x := f.extra.Load(); x != nil && x.v1 != nil {
		return false
	}
	fields := f.fieldsV1()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		if !needsEscapeV1(f.labels) {
			return false
		}
		c.collect(index, f)
		c.active.Store(true)
	}
	if n := c.table.Len(); len(c.seen) > 2*n+minCollect {
		c.collect(index, f)
	}
	hash := maphash.Bytes(collisionSeed, fields)
	other, ok := c.seen[hash]
	c.seen[hash] = f.num()
	if !ok || other == f.num() {
		return false
	}
	live, _ := c.table.peek(other)
	return live != nil
}

var collisionSeed = maphash.MakeSeed()

// minCollect keeps small tables from being walked over and over.
const minCollect = 1024

// collect notes the series that there are, but for the one of f.
func (c *collisions) collect(index int, f *Form) {
	c.seen = map[uint64]uint64{}
	var fields []byte
	c.table.each(func(s *Series) {
		if have := s.To(c.table, index); have != nil && have != f {
			fields = appendLabelsV1(fields[:0], have.labels)
			c.seen[maphash.Bytes(collisionSeed, fields)] = s.num()
		}
	})
}
