package pool

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type scratch struct {
	user int
	list []byte
}

func newScratchPool(made *atomic.Int64) *Pool[*scratch] {
	return New(func() *scratch {
		made.Add(1)
		return new(scratch)
	}, func(s *scratch) bool {
		if cap(s.list) > 100 {
			return false
		}
		s.user, s.list = 0, s.list[:0]
		return true
	})
}

// What is put back is reset, whether or not it is kept is the hook's word, and
// what it refused never comes out again.
func TestPool(t *testing.T) {
	var made atomic.Int64
	p := newScratchPool(&made)
	s := p.Get()
	require.Equal(t, int64(1), made.Load())
	s.user, s.list = 7, append(s.list, 1)
	require.True(t, p.Put(s))
	require.Equal(t, 0, s.user)
	require.Empty(t, s.list)

	large := p.Get()
	large.list = make([]byte, 101)
	require.False(t, p.Put(large), "it grew beyond its cap")
	for range 100 {
		require.NotSame(t, large, p.Get())
	}
}

// Values are clean and nobody else's, also with many users.
func TestPoolConcurrently(t *testing.T) {
	var made atomic.Int64
	p := newScratchPool(&made)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for n := range 1000 {
				s := p.Get()
				if s.user != 0 || len(s.list) != 0 {
					t.Errorf("dirty: %+v", *s)
					return
				}
				s.user = worker + 1
				s.list = append(s.list, make([]byte, n%150)...)
				if s.user != worker+1 {
					t.Errorf("worker %d shares a value with %d", worker, s.user-1)
					return
				}
				p.Put(s)
			}
		})
	}
	wg.Wait()
}
