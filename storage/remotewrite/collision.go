package remotewrite

import (
	"hash/maphash"
	"sync"
)

// collisions finds series of one destination that 1.0's escaping makes equal.
// It costs nothing until a series needs escaping, which with the default
// translation none does; from then on a hash per series.
type collisions struct {
	table *Table

	mu   sync.Mutex
	seen map[uint64]uint64 // number of the series, by hash of its labels
}

// prepare makes the 1.0 labels of a form, once, and reports whether they are
// those of another live series.
func (c *collisions) prepare(f *Form, index int) (collides bool) {
	if x := f.extra.Load(); x != nil && x.v1 != nil {
		return false
	}
	fields := f.fieldsV1()
	escaped := needsEscapeV1(f.labels)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		if !escaped {
			return false
		}
		c.collect(index)
	}
	if n := c.table.Len(); len(c.seen) > 2*n+minCollect {
		c.collect(index)
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

// collect notes the series whose 1.0 labels were made before.
func (c *collisions) collect(index int) {
	c.seen = map[uint64]uint64{}
	c.table.each(func(s *Series) {
		if f := s.To(c.table, index); f != nil {
			if x := f.extra.Load(); x != nil && x.v1 != nil {
				c.seen[maphash.Bytes(collisionSeed, x.v1)] = s.num()
			}
		}
	})
}
