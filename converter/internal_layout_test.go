package converter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// Label sets that are cut from one piece are those that the library builds.
func TestBuildAllIsBuild(t *testing.T) {
	sizes := []int{0, 1, 253, 254, 255, 256, 65535, 65536, 70000}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var lb labelBuilder
		seen := map[string]bool{}
		for range rnd.IntN(5) {
			name := []string{"A", "Z9", "__a", "__name", "__name_", "__name__x", "_a", "a", "l", "lea", "ld", "q", "quantild", "quantilf", "z", "ü"}[rnd.IntN(16)]
			if rnd.IntN(8) == 0 {
				name += strings.Repeat("n", sizes[1+rnd.IntN(len(sizes)-1)])
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			lb.list = append(lb.list, attribute{name: name, value: strings.Repeat("v", sizes[rnd.IntN(len(sizes))])})
		}
		lb.merge()
		name := strings.Repeat("m", sizes[1+rnd.IntN(len(sizes)-1)])
		extra := []string{"le", "quantile"}[rnd.IntN(2)]
		lb.vary("_count", "", "")
		lb.vary("_sum", "", "")
		for range rnd.IntN(4) {
			lb.vary("_bucket", extra, strings.Repeat("9", sizes[1+rnd.IntN(len(sizes)-1)]))
		}
		for i, got := range lb.buildAll(name) {
			v := lb.variants[i]
			b := labels.NewScratchBuilder(8)
			b.Add("__name__", name+v.suffix)
			if v.extra != "" {
				b.Add(v.extra, v.value)
			}
			for _, a := range lb.list {
				if a.value != "" {
					b.Add(a.name, a.value)
				}
			}
			b.Sort()
			want := b.Labels()
			require.True(t, labels.Equal(want, got) && want.Hash() == got.Hash(), fmt.Sprint(len(name), extra))
		}
	}
}

// Spans and deltas say what the dense counts say, and no later layout changes
// those that were given away.
func TestLayoutIsDense(t *testing.T) {
	type given struct {
		spans []histogram.Span
		d     []int64
		want  map[int64]uint64
	}
	var s slab
	var all []given
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 3000 {
		if n%7 == 0 {
			s.begin()
		}
		length := rnd.IntN(60)
		if n%100 == 0 {
			length = rnd.IntN(40_000)
		}
		counts := make([]uint64, length)
		density := 1 + rnd.IntN(6)
		for i := range counts {
			if rnd.IntN(density) == 0 {
				counts[i] = rnd.Uint64N(1 << (1 + rnd.IntN(40)))
			}
		}
		shift := uint(rnd.IntN(4))
		if rnd.IntN(10) == 0 {
			shift = uint(rnd.IntN(70))
		}
		offset := int64(int32(rnd.Uint32())) >> rnd.IntN(32)
		if rnd.IntN(20) == 0 {
			offset = []int64{math.MinInt32, math.MaxInt32 - int64(length) - 1, -1, 0, -int64(length)}[rnd.IntN(5)]
		}
		if !indexFits(int32(offset), length, shift) {
			continue
		}
		want := map[int64]uint64{}
		for i, c := range counts {
			if c > 0 {
				at := offset + int64(i)
				for range shift {
					at = int64(math.Floor(float64(at) / 2))
				}
				want[at+1] += c
			}
		}
		merged, first := mergeBuckets(counts, offset, shift)
		in := s.shell()
		at := rnd.IntN(2)
		spans, d := s.layout(in.span[at:at:at+1], merged, first+1)
		all = append(all, given{spans, d, want})
	}
	for _, g := range all {
		got := map[int64]uint64{}
		at, k, count := int64(0), 0, int64(0)
		for i, span := range g.spans {
			require.False(t, i > 0 && span.Offset <= maxGap)
			require.Positive(t, span.Length)
			at += int64(span.Offset)
			for range span.Length {
				count += g.d[k]
				k++
				if count != 0 {
					got[at] = uint64(count)
				}
				at++
			}
		}
		require.Equal(t, len(g.d), k)
		require.Equal(t, g.want, got)
	}
}

// What a store keeps of a native histogram is about as large as the histogram.
func TestSparseHistogramPinsLittle(t *testing.T) {
	var s slab
	counts := make([]uint64, 60_000)
	counts[len(counts)/2] = 1
	var keep [][]int64
	allocs := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			s.begin()
			_, d := s.layout(s.shell().span[:0:1], counts, 0)
			keep = append(keep[:0], d)
		}
	}).AllocedBytesPerOp()
	require.Less(t, allocs, int64(4096), "bytes pinned by one bucket")
}
