package pool

import "sync"

// Pool hands out values of one type and takes them back. It is a [sync.Pool]
// with a door keeper: a value is reset before it is kept, and one that grew
// beyond its cap is left to the garbage collector.
//
// A Pool is safe for concurrent use; the values are not.
type Pool[T any] struct {
	pool  sync.Pool
	reset func(T) bool
}

// New returns a Pool that makes values with make and cleans them with reset.
// Reset drops every reference to the user's data and reports whether the value
// is worth keeping: false means it grew too large.
func New[T any](make func() T, reset func(T) (keep bool)) *Pool[T] {
	return &Pool[T]{
		pool:  sync.Pool{New: func() any { return make() }},
		reset: reset,
	}
}

// Get returns a clean value. The caller owns it until [Pool.Put].
func (p *Pool[T]) Get() T { return p.pool.Get().(T) }

// Put resets v and keeps it for a later Get, unless reset refuses it. The
// caller must not use v afterwards. It reports whether v was kept.
func (p *Pool[T]) Put(v T) bool {
	if !p.reset(v) {
		return false
	}
	p.pool.Put(v)
	return true
}
