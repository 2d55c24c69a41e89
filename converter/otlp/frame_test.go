package otlp

import (
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
				var want, got Number
				b := encode(n, 7)
				require.Nil(t, ParseNumber(b, &want, &s))
				require.False(t, f.Number(b, string(want.Attributes), &got), "nothing was learned")
				f.Learn(b, want.Attributes, false)
				require.True(t, f.Number(b, string(want.Attributes), &got))
				require.Equal(t, want, normal(got))
				b = encode(n, 1<<40)
				require.Nil(t, ParseNumber(b, &want, &s))
				require.True(t, f.Number(b, string(want.Attributes), &got), "other values")
				require.Equal(t, want, normal(got))
				known := string(want.Attributes)
				rnd := rand.New(rand.NewPCG(1, uint64(n)))
				for range 20_000 {
					c := append([]byte(nil), b...)
					c[rnd.IntN(len(c))] ^= 1 << rnd.IntN(8)
					if rnd.IntN(4) == 0 {
						c = c[:rnd.IntN(len(c)+1)]
					}
					if f.Number(c, known, &got) {
						require.Nil(t, ParseNumber(c, &want, &s))
						require.Equal(t, want, normal(got))
					}
				}
			}
		})
	}
}

// normal is a point as ParseNumber leaves it.
func normal(p Number) Number {
	p.Exemplars.tag = numberExemplar
	if len(p.Attributes) == 0 {
		p.Attributes = nil
	}
	p.Attributes = p.Attributes[:len(p.Attributes):len(p.Attributes)]
	return p
}
