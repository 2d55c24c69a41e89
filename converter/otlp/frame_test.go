package otlp

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// Points that lie alike are read by their frame as they are by parsing, and
// others are not: whatever byte is changed, the frame finds what parsing finds,
// or nothing.
func TestFrame(t *testing.T) {
	attributes := func(n int) (b []byte) {
		for range n {
			b = protowire.AppendTag(b, 7, protowire.BytesType)
			b = protowire.AppendBytes(b, []byte("\x0a\x01k\x12\x03\x0a\x01v"))
		}
		return b
	}
	fixed := func(b []byte, num protowire.Number, v uint64) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(b, num, protowire.Fixed64Type), v)
	}
	for name, encode := range map[string]func(n int, v uint64) []byte{
		"attributes first": func(n int, v uint64) []byte {
			return fixed(fixed(fixed(attributes(n), 6, v), 3, v+1), 2, v+2)
		},
		"attributes last": func(n int, v uint64) []byte {
			return append(fixed(fixed(fixed(nil, 2, v), 3, v+1), 4, v+2), attributes(n)...)
		},
		"attributes between": func(n int, v uint64) []byte {
			return fixed(append(fixed(fixed(nil, 2, v), 3, v+1), attributes(n)...), 4, v+2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var f Frame
			var s Scratch
			for n := range 4 {
				f = Frame{}
				var want Number
				var got Reading
				b := encode(n, 7)
				require.Nil(t, ParseNumber(b, &want, &s))
				require.False(t, f.Read(b, string(want.Attributes), &got), "nothing was learned")
				f.Learn(b, want.Attributes, false)
				require.True(t, f.Read(b, string(want.Attributes), &got))
				requireNumber(t, &want, &got)
				b = encode(n, 1<<40)
				require.Nil(t, ParseNumber(b, &want, &s))
				require.True(t, f.Read(b, string(want.Attributes), &got), "other values")
				requireNumber(t, &want, &got)
				known := string(want.Attributes)
				damage(b, uint64(n), func(c []byte) {
					if f.Read(c, known, &got) {
						require.Nil(t, ParseNumber(c, &want, &s))
						require.Equal(t, known, string(want.Attributes))
						requireNumber(t, &want, &got)
					}
				})
			}
		})
	}
}

func requireNumber(t *testing.T, want *Number, got *Reading) {
	t.Helper()
	require.Zero(t, want.Flags)
	require.Zero(t, want.Exemplars.Len())
	require.Equal(t, []any{want.StartNs, want.TimeNs, want.Kind, want.Bits}, []any{got.StartNs, got.TimeNs, got.Kind, got.Bits})
}

// damage calls f with copies of b in which a bit is wrong, and some cut short.
func damage(b []byte, seed uint64, f func([]byte)) {
	rnd := rand.New(rand.NewPCG(1, seed))
	for range 20_000 {
		c := append([]byte(nil), b...)
		c[rnd.IntN(len(c))] ^= 1 << rnd.IntN(8)
		if rnd.IntN(4) == 0 {
			c = c[:rnd.IntN(len(c)+1)]
		}
		f(c)
	}
}

// The same for histograms, of which two fields are packed. With many buckets
// their lengths take two bytes.
func TestFrameOfHistogram(t *testing.T) {
	fixed := func(b []byte, num protowire.Number, v uint64) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(b, num, protowire.Fixed64Type), v)
	}
	for _, buckets := range []int{1, 2, 15, 16, 40, 2000} {
		for _, sum := range []bool{false, true} {
			encode := func(v uint64) []byte {
				b := protowire.AppendBytes(protowire.AppendTag(nil, 9, protowire.BytesType), []byte("\x0a\x01k\x12\x03\x0a\x01v"))
				b = fixed(fixed(fixed(b, 11, v), 12, v), 4, v)
				if sum {
					b = fixed(b, 5, v+1)
				}
				counts, bounds := []byte(nil), []byte(nil)
				for i := range buckets {
					counts = binary.LittleEndian.AppendUint64(counts, v+uint64(i))
					if i > 0 {
						bounds = binary.LittleEndian.AppendUint64(bounds, uint64(i))
					}
				}
				b = protowire.AppendBytes(protowire.AppendTag(b, 6, protowire.BytesType), counts)
				if len(bounds) > 0 {
					b = protowire.AppendBytes(protowire.AppendTag(b, 7, protowire.BytesType), bounds)
				}
				return fixed(fixed(b, 3, v+2), 2, v+3)
			}
			var f Frame
			var s Scratch
			var want Histogram
			var got Reading
			b := encode(1)
			require.Nil(t, ParseHistogram(b, &want, &s))
			f.Learn(b, want.Attributes, true)
			check := func(b []byte) {
				require.Nil(t, ParseHistogram(b, &want, &s))
				require.Equal(t, []any{want.StartNs, want.TimeNs, want.Count, want.HasSum, math.Float64bits(want.Sum), string(want.Counts), string(want.Bounds)},
					[]any{got.StartNs, got.TimeNs, got.Count, got.HasSum, math.Float64bits(got.Sum), string(got.Counts), string(got.Bounds)})
				require.Zero(t, want.Exemplars.Len())
				require.Zero(t, want.Flags)
			}
			known := string(want.Attributes)
			b = encode(1 << 33)
			require.True(t, f.Read(b, known, &got))
			check(b)
			damage(b, uint64(buckets), func(c []byte) {
				if f.Read(c, known, &got) {
					check(c)
					require.Equal(t, known, string(want.Attributes))
				}
			})
		}
	}
}
