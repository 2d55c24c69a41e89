package series

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// clashing returns two label sets with one hash. Anybody can make such: the
// hash is xxhash without a secret, whose lanes take a difference in one block
// back in the next.
func clashing(t testing.TB) (a, b labels.Labels) {
	t.Helper()
	const p1, p2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
	inverse := uint64(p2) // of p2 modulo 2^64, by Newton's method
	for range 6 {
		inverse *= 2 - p2*inverse
	}
	round := func(acc, in uint64) uint64 { return bits.RotateLeft64(acc+in*p2, 31) * p1 }
	rnd := rand.New(rand.NewPCG(4, 4))
	word := func() (w uint64) {
		for range 8 {
			w = w<<8 | uint64('a'+rnd.IntN(26))
		}
		return w
	}
	// The bytes that are hashed begin with the length and the name of the label
	// and the length of its value: three bytes. Lanes are 8 bytes of 32.
	value := []byte(strings.Repeat("-", 93))
	prefix := []byte{1, 'a', byte(len(value))}
	place := func(lane2, lane3 uint64) string {
		whole := append(append([]byte(nil), prefix...), value...)
		binary.LittleEndian.PutUint64(whole[32:], lane2)
		binary.LittleEndian.PutUint64(whole[64:], lane3)
		return string(whole[len(prefix):])
	}
	start := uint64(p1)
	first := append(append([]byte(nil), prefix...), value...)
	state := round(start+p2, binary.LittleEndian.Uint64(first))
	for {
		x2, x3, y2 := word(), word(), word()
		// acc + y3*p2 must be what it is for x.
		y3 := x3 + (round(state, x2)-round(state, y2))*inverse
		v := place(y2, y3)
		if x2 == y2 || strings.ToValidUTF8(v, "") != v || strings.Contains(v, "\x00") {
			continue
		}
		a, b = labels.FromStrings("a", place(x2, x3)), labels.FromStrings("a", v)
		require.Equal(t, a.Hash(), b.Hash(), "the hash of labels is no longer what this assumes")
		require.False(t, labels.Equal(a, b))
		return a, b
	}
}

// hold returns the record of a series, made if need be.
func hold(x *Records, ls labels.Labels, owner *Target, b *Budget) (r *Record, kept bool) {
	if r := x.Hold(ls); r != nil {
		return r, true
	}
	g, kept := x.Add([]labels.Labels{ls}, owner, b)
	return g.Record(0), kept
}

func TestRecords(t *testing.T) {
	var x Records
	b := &Budget{maxBytes: 1 << 20}
	one, two := new(Target), new(Target)
	up := labels.FromStrings("__name__", "up", "job", "a")

	r, kept := hold(&x, up, one, b)
	require.True(t, kept)
	require.Same(t, one, r.Owner())
	again, kept := hold(&x, labels.FromStrings("__name__", "up", "job", "a"), two, b)
	require.True(t, kept)
	require.Same(t, r, again, "one series has one record")
	require.Same(t, one, again.Owner(), "the first target owns it")
	other, kept := hold(&x, labels.FromStrings("__name__", "up", "job", "b"), two, b)
	require.True(t, kept)
	require.NotSame(t, r, other)
	require.EqualValues(t, 2, b.series.Load())

	r.SetRef(7)
	require.Empty(t, x.Release(r, b, nil), "somebody still holds it")
	still, _ := hold(&x, up, two, b)
	require.Same(t, r, still)
	require.Empty(t, x.Release(r, b, nil))
	require.Equal(t, []storage.SeriesRef{1, 7}, x.Release(r, b, []storage.SeriesRef{1}))
	require.Empty(t, x.Release(other, b, nil), "it never had a ref")
	require.Zero(t, b.bytes.Load())
	require.Zero(t, b.series.Load())

	fresh, _ := hold(&x, up, two, b)
	require.NotSame(t, r, fresh, "what nobody holds is forgotten")
	require.Same(t, two, fresh.Owner())
	require.Zero(t, fresh.Ref())
}

// Label sets that anybody can make to meet under the library's hash do not meet
// here, and are two series in whatever order they come and go.
func TestRecordsClash(t *testing.T) {
	la, lb := clashing(t)
	require.NotEqual(t, hashOfLabels(la), hashOfLabels(lb))
	require.Equal(t, hashOfLabels(la), hashOfLabels(labels.FromMap(la.Map())), "equal label sets are one string wherever it lies")
	b := &Budget{maxBytes: 1 << 20}
	for _, order := range [][2]labels.Labels{{la, lb}, {lb, la}} {
		var x Records
		first, _ := hold(&x, order[0], nil, b)
		second, kept := hold(&x, order[1], nil, b)
		require.True(t, kept)
		require.NotSame(t, first, second)
		first.SetRef(1)
		second.SetRef(2)

		require.Equal(t, []storage.SeriesRef{1}, x.Release(first, b, nil))
		again, kept := hold(&x, order[1], nil, b)
		require.True(t, kept)
		require.Same(t, second, again, "it is found though the other one went")
		third, _ := hold(&x, order[0], nil, b)
		require.NotSame(t, second, third)

		require.Empty(t, x.Release(second, b, nil))
		require.Equal(t, []storage.SeriesRef{2}, x.Release(second, b, nil))
		fourth, _ := hold(&x, order[0], nil, b)
		require.Same(t, third, fourth)
		x.Release(third, b, nil)
		x.Release(third, b, nil)
		require.Zero(t, b.bytes.Load())
		require.Zero(t, b.series.Load())
		for i := range x.shards {
			require.Zero(t, x.shards[i].byLabels.n)
		}
	}
}

// Without room a record serves one request: it is not found again and leaves
// nothing behind.
func TestRecordsWithoutRoom(t *testing.T) {
	up, down := labels.FromStrings("a", "up"), labels.FromStrings("a", "dn")
	for name, b := range map[string]*Budget{
		"no bytes":  {maxBytes: recordCost + groupCost + int64(up.ByteSize())},
		"no series": {maxBytes: 1 << 20, maxSeries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var x Records
			r, kept := hold(&x, up, nil, b)
			require.True(t, kept)
			held := [2]int64{b.bytes.Load(), b.series.Load()}
			lost, kept := hold(&x, down, nil, b)
			require.False(t, kept)
			require.True(t, labels.Equal(down, lost.Labels))
			require.True(t, b.refused.Load())
			other, kept := hold(&x, down, nil, b)
			require.False(t, kept)
			require.NotSame(t, lost, other)
			again, kept := hold(&x, up, nil, b)
			require.True(t, kept, "what is there needs no room")
			require.Same(t, r, again)
			require.Equal(t, held[0], b.bytes.Load())
			require.Equal(t, held[1], b.series.Load())

			x.Release(r, b, nil)
			x.Release(r, b, nil)
			require.Zero(t, b.bytes.Load())
			require.Zero(t, b.series.Load())
			_, kept = hold(&x, down, nil, b)
			require.True(t, kept)
		})
	}
}

// A count of holders that no longer fits never comes down to zero by mistake.
func TestRecordsHeldTooOften(t *testing.T) {
	var x Records
	b := &Budget{maxBytes: 1 << 20}
	up := labels.FromStrings("a", "up")
	var r *Record
	for range math.MaxUint16 + 10 {
		r, _ = hold(&x, up, nil, b)
	}
	r.SetRef(1)
	for range math.MaxUint16 + 10 {
		require.Empty(t, x.Release(r, b, nil))
	}
	again, kept := hold(&x, up, nil, b)
	require.True(t, kept)
	require.Same(t, r, again)
}

// Many requests hold and release the same series; a model counts along.
func TestRecordsAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	var x Records
	b := &Budget{maxBytes: 3000}
	holders := make(map[*Record]int)
	byLabels := make(map[string]*Record)
	size := int64(0)
	for range 20_000 {
		ls := labels.FromStrings("a", fmt.Sprint(rnd.IntN(40)), "pad", strings.Repeat("x", rnd.IntN(3)*20))
		cost := int64(recordCost+groupCost) + int64(ls.ByteSize())
		known := byLabels[ls.String()]
		if rnd.IntN(2) == 0 {
			r, kept := hold(&x, ls, nil, b)
			require.Equal(t, known != nil || size+cost <= b.maxBytes, kept)
			switch {
			case !kept:
				continue
			case known != nil:
				require.Same(t, known, r)
			default:
				byLabels[ls.String()] = r
				size += cost
				r.SetRef(storage.SeriesRef(rnd.IntN(2)))
			}
			holders[r]++
		} else if known != nil {
			refs := x.Release(known, b, nil)
			if holders[known]--; holders[known] > 0 {
				require.Empty(t, refs)
				continue
			}
			delete(holders, known)
			delete(byLabels, ls.String())
			size -= cost
			if known.Ref() == 0 {
				require.Empty(t, refs)
			} else {
				require.Equal(t, []storage.SeriesRef{known.Ref()}, refs)
			}
		}
		require.Equal(t, size, b.bytes.Load())
		require.EqualValues(t, len(byLabels), b.series.Load())
	}
}
