package pool

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever size is asked for, the buffer is empty and holds it.
func TestGetBufferHasRoom(t *testing.T) {
	sizes := []int{-1, 0, 1, MaxKeptBuffer + 1}
	for bit := minLevelBits - 1; bit <= 17; bit++ {
		sizes = append(sizes, 1<<bit-1, 1<<bit, 1<<bit+1)
	}
	for range 2 { // The second time from the pool, where the first was kept.
		for _, size := range sizes {
			b := GetBuffer(size)
			require.Empty(t, b.B, "size %d", size)
			require.GreaterOrEqual(t, cap(b.B), size)
			b.Release()
		}
	}
}

// The level of a size is the smallest that holds it.
func TestLevelFor(t *testing.T) {
	for bit := minLevelBits; bit <= maxLevelBits; bit++ {
		level := bit - minLevelBits
		require.Equal(t, level, levelFor(1<<bit))
		require.Equal(t, level+1, levelFor(1<<bit+1))
	}
	require.Equal(t, levels, levelFor(MaxKeptBuffer+1), "none holds it")
	require.Equal(t, levels, levelFor(1<<40))
	require.Equal(t, 0, levelFor(0))
	require.Equal(t, 0, levelFor(-5))
}

// A level holds its size whatever capacities came back: those that grew by
// append are of any length.
func TestBufferLevelsKeepTheirPromise(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		size := rnd.IntN(1 << (1 + rnd.IntN(16)))
		b := GetBuffer(size)
		require.GreaterOrEqual(t, cap(b.B), size)
		b.B = append(b.B, make([]byte, rnd.IntN(3*size+1))...)
		b.Release()

		odd := &Buffer{B: make([]byte, rnd.IntN(1<<16))}
		odd.Release()
	}
}

// A small request takes a small buffer, however large those are that came back.
func TestSmallSizesTakeSmallBuffers(t *testing.T) {
	for range 4 {
		GetBuffer(MaxKeptBuffer / 8).Release()
	}
	b := GetBuffer(100)
	defer b.Release()
	require.Less(t, cap(b.B), 1<<(minLevelBits+1))
}

// What outgrew the cap, and what is too small for any level, is not kept.
func TestReleaseDrops(t *testing.T) {
	for _, size := range []int{0, 1, 1<<minLevelBits - 1, MaxKeptBuffer + 1} {
		b := &Buffer{B: make([]byte, size)}
		b.Release()
		require.Nil(t, b.B, "size %d", size)
	}
	b := &Buffer{B: make([]byte, MaxKeptBuffer)}
	b.Release()
	require.Equal(t, MaxKeptBuffer, cap(b.B), "the largest one that is kept")
	require.Empty(t, b.B)

	(*Buffer)(nil).Release()
}

// In builds that check, released memory is overwritten: all of it, also what
// lies beyond the length.
func TestReleasePoisons(t *testing.T) {
	for _, size := range []int{10, 5000, MaxKeptBuffer + 1} {
		whole := make([]byte, size)
		for i := range whole {
			whole[i] = 1
		}
		(&Buffer{B: whole[:size/2]}).Release()
		want := byte(1)
		if Poisoned {
			want = PoisonByte
		}
		for _, i := range []int{0, size/2 - 1, size / 2, size - 1} {
			require.Equal(t, want, whole[i], "byte %d of %d", i, size)
		}
	}
}

func TestPoison(t *testing.T) {
	b := []byte{1, 2, 3, 4}
	Poison(b[1:3])
	require.Equal(t, []byte{1, PoisonByte, PoisonByte, 4}, b)
}

// No buffer is on loan twice.
func TestBuffersAreNotShared(t *testing.T) {
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(worker), 2))
			for range 100 {
				b := GetBuffer(rnd.IntN(20_000))
				for range 1 + rnd.IntN(2000) {
					b.B = append(b.B, byte(worker))
				}
				for _, x := range b.B {
					if x != byte(worker) {
						t.Errorf("worker %d found %d in its buffer", worker, x)
						return
					}
				}
				b.Release()
			}
		})
	}
	wg.Wait()
}
