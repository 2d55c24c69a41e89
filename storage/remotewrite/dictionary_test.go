package remotewrite

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// decode returns the label sets of both versions' messages of rows.
func decode(t *testing.T, enc *Encoder, rows []Row) (v1, v2 []string) {
	t.Helper()
	b := labels.NewScratchBuilder(0)
	var two writev2.Request
	require.NoError(t, proto.Unmarshal(enc.AppendV2(nil, rows), &two))
	for _, ts := range two.Timeseries {
		ls, err := ts.ToLabels(&b, two.Symbols)
		require.NoError(t, err)
		v2 = append(v2, ls.String())
	}
	var one prompb.WriteRequest
	require.NoError(t, proto.Unmarshal(enc.AppendV1(nil, rows), &one))
	for _, ts := range one.Timeseries {
		v1 = append(v1, ts.ToLabels(&b, nil).String())
	}
	return v1, v2
}

// Whatever a series has in common with others, its labels arrive: alike but for
// one to four values, values at places beyond what may vary, longer and shorter
// values in one place, and a template that comes to vary between two messages.
func TestSeriesThatAreAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	table := NewTable(DefaultMaxSeries, Rule{})
	enc := NewEncoder(table)
	var rows []Row
	var want []string
	for i := range 300 {
		names := 3
		if i%3 == 0 {
			names = 40
		}
		b := labels.NewScratchBuilder(names)
		b.Add("__name__", fmt.Sprint("metric_", i/50))
		for n := range names {
			v := "common"
			if r.IntN(names) < 2 {
				v = randomText(r)
			}
			b.Add(fmt.Sprintf("label_%02d", n), v)
		}
		ls := b.Labels()
		s := table.Series(0, ls, uint64(i%2))
		if i%41 == 40 {
			s.template = nil // as when the dictionary is full
		}
		rows = append(rows, rowOf(s, Sample{T: 1}))
		want = append(want, ls.String())
		if i%37 == 0 || i == 299 {
			v1, v2 := decode(t, enc, rows)
			require.Equal(t, want, v1)
			require.Equal(t, want, v2)
		}
	}
	templates := map[*template]bool{}
	for _, row := range rows {
		templates[row.Form.template] = true
	}
	require.Less(t, len(templates), 200, "most are shared")
}

// When as many series have gone as are there, the strings of those that went go
// too, and those that stayed are numbered anew when they are next used.
func TestStringsOfForgottenSeriesGo(t *testing.T) {
	table := NewTable(DefaultMaxSeries, Rule{})
	enc := NewEncoder(table)
	stays := table.Series(0, labels.FromStrings("__name__", "stays", "job", "j"), 0)
	first := table.dict.Load()
	for i := range minGone {
		s := table.Series(0, numbered(i), 0)
		table.Forget([]promstorage.SeriesRef{s.Ref(table)})
	}
	require.NotSame(t, first, table.dict.Load())
	require.Less(t, table.dict.Load().size(), 10)

	// In a message of both dictionaries every string is there once: FarEnd's
	// rule, checked in TestV2DecodesToWhatWasEncoded.
	young := table.Series(0, labels.FromStrings("__name__", "young", "job", "j"), 0)
	v1, v2 := decode(t, enc, []Row{rowOf(stays, Sample{T: 1}), rowOf(young, Sample{T: 1})})
	want := []string{`{__name__="stays", job="j"}`, `{__name__="young", job="j"}`}
	require.Equal(t, want, v1)
	require.Equal(t, want, v2)

	moved := table.Series(stays.Ref(table), stays.labels, 0)
	require.NotSame(t, stays, moved)
	require.Same(t, table.dict.Load(), moved.template.dict)
	require.Same(t, moved, table.Series(0, stays.labels, 0))
	require.Same(t, moved, table.Series(moved.Ref(table), stays.labels, 0))
	require.Equal(t, 2, table.Len())
}

// Series are added and encoded at the same time.
func TestDictionaryConcurrently(t *testing.T) {
	table := NewTable(DefaultMaxSeries, Rule{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			enc := NewEncoder(table)
			var dst []byte
			for i := range 300 {
				ls := labels.FromStrings("__name__", "m", "g", fmt.Sprint(g%2), "i", fmt.Sprint(i))
				s := table.Series(0, ls, 0)
				dst = enc.AppendV2(dst[:0], []Row{rowOf(s, Sample{T: 1})})
				var got writev2.Request
				if err := proto.Unmarshal(dst, &got); err != nil {
					t.Error(err)
					return
				}
				b := labels.NewScratchBuilder(0)
				if back, err := got.Timeseries[0].ToLabels(&b, got.Symbols); err != nil || !labels.Equal(back, ls) {
					t.Errorf("%s for %s: %v", back, ls, err)
				}
				if i%50 == 0 {
					table.dict.Store(newDictionary())
				}
			}
		})
	}
	wg.Wait()
}
