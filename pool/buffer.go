package pool

import (
	"math/bits"
	"sync"
)

// Buffer levels are powers of two from 4 KiB to 8 MiB. Level steps keep a
// 100-byte health probe from walking off with the buffer of a 5 MiB batch.
const (
	minLevelBits = 12
	maxLevelBits = 23
	levels       = maxLevelBits - minLevelBits + 1
)

// MaxKeptBuffer is the largest buffer that is kept for reuse. Larger ones
// serve one request and go: pools that keep what a single huge request needed
// have run gateways out of memory.
const MaxKeptBuffer = 1 << maxLevelBits

// Buffer is a byte slice on loan from the pool.
type Buffer struct {
	// B holds the bytes. Users append to it and store the result back; its
	// memory is valid until [Buffer.Release].
	B []byte
}

var bufferLevels [levels]sync.Pool

// GetBuffer returns an empty buffer with room for at least size bytes. The
// caller owns it until [Buffer.Release].
func GetBuffer(size int) *Buffer {
	level := levelFor(size)
	if level >= levels {
		return &Buffer{B: make([]byte, 0, size)}
	}
	if b, _ := bufferLevels[level].Get().(*Buffer); b != nil {
		return b
	}
	return &Buffer{B: make([]byte, 0, 1<<(level+minLevelBits))}
}

// Release gives the memory back. Nothing may point into b.B afterwards. A
// buffer that grew beyond [MaxKeptBuffer] is dropped. Releasing nil is allowed.
func (b *Buffer) Release() {
	if b == nil {
		return
	}
	c := cap(b.B)
	poison(b.B[:c])
	if c < 1<<minLevelBits || c > MaxKeptBuffer {
		b.B = nil
		return
	}
	b.B = b.B[:0]
	// Rounded down: a level's promise is at least its size.
	bufferLevels[bits.Len(uint(c))-1-minLevelBits].Put(b)
}

// levelFor returns the smallest level whose buffers hold size bytes, or levels
// when none does.
func levelFor(size int) int {
	if size <= 1<<minLevelBits {
		return 0
	}
	return min(bits.Len(uint(size-1))-minLevelBits, levels)
}
