package remotewrite

import (
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/relabel"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func numbered(i int) labels.Labels {
	return labels.FromStrings("__name__", "m", "i", fmt.Sprint(i))
}

func rules(t testing.TB, text string) []*relabel.Config {
	t.Helper()
	var out []*relabel.Config
	require.NoError(t, yaml.Unmarshal([]byte(text), &out))
	for _, c := range out {
		require.NoError(t, c.Validate(model.UTF8Validation))
	}
	return out
}

func TestTableRefs(t *testing.T) {
	table := NewTable(DefaultMaxSeries, Rule{})
	const n = 3*chunkSize + 5
	seen := map[promstorage.SeriesRef]bool{}
	series := make([]*Series, n)
	for i := range n {
		series[i] = table.Series(0, numbered(i), 0)
		require.NotZero(t, series[i].Ref(table))
		require.False(t, seen[series[i].Ref(table)])
		seen[series[i].Ref(table)] = true
	}
	require.Equal(t, n, table.Len())
	for i := range n {
		require.Same(t, series[i], table.Series(series[i].Ref(table), labels.EmptyLabels(), 0), "by ref alone")
		require.Same(t, series[i], table.Series(0, numbered(i), 0), "by labels")
		require.Same(t, series[i], table.Series(1<<62, numbered(i), 0), "by labels, the ref not being known")
	}

	var refs []promstorage.SeriesRef
	for _, s := range series[:2*chunkSize] {
		refs = append(refs, s.Ref(table))
	}
	table.Forget(refs)
	table.Forget(refs)
	require.Equal(t, n-2*chunkSize, table.Len())
	require.Nil(t, (*table.chunks.Load())[1], "chunks without series are let go")
	for i := range n {
		s := table.Series(series[i].Ref(table), numbered(i), 0)
		if i < 2*chunkSize {
			require.False(t, seen[s.Ref(table)], "a ref is not given twice")
		} else {
			require.Same(t, series[i], s)
		}
	}
	require.Equal(t, n, table.Len())
}

func TestTableOfAnotherInstance(t *testing.T) {
	a, b := NewTable(DefaultMaxSeries, Rule{}), NewTable(DefaultMaxSeries, Rule{})
	b.salt = a.salt ^ 1<<numBits
	ref := a.Series(0, numbered(1), 0).Ref(a)
	b.Series(0, numbered(2), 0)
	require.True(t, labels.Equal(numbered(1), b.Series(ref, numbered(1), 0).labels))
}

// A spray of series that nobody keeps a ref of is forgotten, and those in use
// keep their refs.
func TestTableIsBounded(t *testing.T) {
	const most = 1000
	table := NewTable(most, Rule{})
	var held [10]*Series
	for i := range held {
		held[i] = table.Series(0, numbered(-i-1), 0)
	}
	for i := range 20 * most {
		table.Series(0, numbered(i), 0)
		s := held[i%len(held)]
		require.Same(t, s, table.Series(s.Ref(table), s.labels, 0))
		require.LessOrEqual(t, table.Len(), most+most/10, "the clock goes round once before it finds the first")
	}
	require.Less(t, nonNil(*table.chunks.Load()), 5, "chunks are let go")
}

func nonNil(chunks []*chunk) (n int) {
	for _, c := range chunks {
		if c != nil {
			n++
		}
	}
	return n
}

func TestTableConcurrently(t *testing.T) {
	table := NewTable(200, Rule{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				s := table.Series(0, numbered(i%300), 0)
				if got := table.Series(s.Ref(table), numbered(i%300), 0); !labels.Equal(got.labels, numbered(i%300)) {
					t.Errorf("got %s for %s", got.labels, numbered(i%300))
				}
				if i%7 == g {
					table.Forget([]promstorage.SeriesRef{s.Ref(table)})
				}
			}
		})
	}
	wg.Wait()
}

func TestRules(t *testing.T) {
	external := labels.FromStrings("region", "eu", "job", "external")
	table := NewTable(DefaultMaxSeries,
		Rule{},
		Rule{External: external},
		Rule{External: external, Relabel: rules(t, `
- {source_labels: [__name__], regex: secret.*, action: drop}
- {source_labels: [region], target_label: __tmp_zone}
- {source_labels: [__tmp_zone], target_label: zone}
- {regex: i, action: labeldrop}
`)},
		Rule{Relabel: rules(t, `[{regex: .*, action: labeldrop}]`)},
	)
	s := table.Series(0, labels.FromStrings("__name__", "m", "i", "1", "job", "shop"), 0)
	for i, want := range []string{
		`{__name__="m", i="1", job="shop"}`,
		`{__name__="m", i="1", job="shop", region="eu"}`,
		`{__name__="m", job="shop", region="eu", zone="eu"}`,
	} {
		require.Equal(t, want, s.To(table, i).Labels().String())
	}
	require.Nil(t, s.To(table, 3), "a series without labels is none")
	secret := table.Series(0, labels.FromStrings("__name__", "secret_total"), 0)
	require.NotNil(t, secret.To(table, 1))
	require.Nil(t, secret.To(table, 2))
}

func TestMetadataIsShared(t *testing.T) {
	s := NewTable(DefaultMaxSeries, Rule{}).Series(0, numbered(1), 0)
	m := metadata.Metadata{Type: model.MetricTypeCounter, Help: "Help.", Unit: "s"}
	first := s.Metadata(m, "")
	require.Equal(t, "m", first.Family)
	require.Same(t, first, s.Metadata(m, "m"))
	m.Help = "Other."
	require.NotSame(t, first, s.Metadata(m, "m"))
	require.Equal(t, "a_b", s.Metadata(m, "a.b").familyV1)
}
