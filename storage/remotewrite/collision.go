package remotewrite

import (
	"hash/maphash"
	"sync"

	promstorage "github.com/prometheus/prometheus/storage"
)

// collisions finds series of one destination that 1.0's escaping makes equal.
// It costs nothing until a series needs escaping, which with the default
// translation none does; from then on a hash per series.
type collisions struct {
	table *Table

	mu   sync.Mutex
	seen map[uint64]promstorage.SeriesRef
}

// prepare makes the 1.0 labels of a form, once, and reports whether they are
// those of another live series.
func (c *collisions) prepare(f *Form, index int) (collides bool) {
	if f.v1.Load() != nil {
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
	c.seen[hash] = f.series.ref
	return ok && other != f.series.ref && c.table.byRef(other) != nil
}

var collisionSeed = maphash.MakeSeed()

// minCollect keeps small tables from being walked over and over.
const minCollect = 1024

// collect notes the series whose 1.0 labels were made before.
func (c *collisions) collect(index int) {
	c.seen = map[uint64]promstorage.SeriesRef{}
	c.table.each(func(s *Series) {
		if f := s.forms[index]; f != nil {
			if fields := f.v1.Load(); fields != nil {
				c.seen[maphash.Bytes(collisionSeed, *fields)] = s.ref
			}
		}
	})
}
