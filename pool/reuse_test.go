//go:build !race

package pool

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A warm pool allocates nothing. (The race detector drops values at random.)
func TestReuseAllocatesNothing(t *testing.T) {
	p := New(func() *scratch { return &scratch{list: make([]byte, 0, 64)} }, func(s *scratch) bool {
		s.list = s.list[:0]
		return true
	})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s := p.Get()
		s.list = append(s.list, 1)
		p.Put(s)
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b := GetBuffer(10_000)
		b.B = append(b.B, 1)
		b.Release()
	}))
}
