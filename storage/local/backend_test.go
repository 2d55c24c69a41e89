package local

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

func TestMain(m *testing.M) {
	if dir := childDir(); dir != "" {
		runChild(dir)
		return
	}
	// The TSDB leaves this one behind when it cannot write the end of its log.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/prometheus/prometheus/tsdb/wlog.(*WL).run"))
}

// open opens a backend and closes it at the end of the test.
func open(t testing.TB, o Options) *Backend {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Logger == nil {
		o.Logger = quiet
	}
	b, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, b.Close(ctx))
	})
	return b
}

// read returns all stored samples of a series with their exemplars.
func read(t testing.TB, b *Backend, ls labels.Labels) []storagetest.Sample {
	t.Helper()
	q, err := b.Querier(math.MinInt64, math.MaxInt64)
	require.NoError(t, err)
	defer q.Close()
	var ms []*labels.Matcher
	ls.Range(func(l labels.Label) { ms = append(ms, labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value)) })

	var out []storagetest.Sample
	set := q.Select(t.Context(), false, nil, ms...)
	for set.Next() {
		if !labels.Equal(set.At().Labels(), ls) {
			continue
		}
		it := set.At().Iterator(nil)
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			s := storagetest.Sample{Labels: ls, ST: it.AtST(), T: it.AtT()}
			switch typ {
			case chunkenc.ValHistogram:
				_, s.H = it.AtHistogram(nil)
				s.H.CounterResetHint = 0 // The store finds it out.
			case chunkenc.ValFloatHistogram:
				_, s.FH = it.AtFloatHistogram(nil)
				s.FH.CounterResetHint = 0
			default:
				_, s.V = it.At()
			}
			out = append(out, s)
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())

	eq, err := b.ExemplarQuerier(t.Context())
	require.NoError(t, err)
	res, err := eq.Select(math.MinInt64, math.MaxInt64, ms)
	require.NoError(t, err)
	for _, r := range res {
		for _, e := range r.Exemplars {
			e.HasTs = true // The TSDB's log does not keep it; Ts is always set.
			out[len(out)-1].Exemplars = append(out[len(out)-1].Exemplars, e)
		}
	}
	return out
}

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Harness {
		b := open(t, Options{})
		return storagetest.Harness{
			Backend: b,
			Read:    func(t testing.TB, ls labels.Labels) []storagetest.Sample { return read(t, b, ls) },
			Refused: func(app promstorage.AppenderV2) error {
				old := time.Now().Add(-time.Hour).UnixMilli()
				_, err := app.Append(0, labels.FromStrings("__name__", "old"), 0, old, 1, nil, nil, promstorage.AppendV2Options{})
				return err
			},
		}
	})
}

var appendOptions promstorage.AppendV2Options

// tx is a transaction in a test.
type tx struct {
	promstorage.AppenderV2
	t testing.TB
}

func begin(t testing.TB, b *Backend) tx { return tx{b.AppenderV2(t.Context()), t} }

func (x tx) try(s storagetest.Sample) error {
	_, err := x.Append(s.Ref, s.Labels, s.ST, s.T, s.V, s.H, s.FH, promstorage.AppendV2Options{
		Exemplars: s.Exemplars, Metadata: s.Metadata, MetricFamilyName: s.MetricFamilyName,
	})
	return err
}

func (x tx) add(s storagetest.Sample) {
	x.t.Helper()
	require.NoError(x.t, x.try(s))
}

func (x tx) commit() {
	x.t.Helper()
	require.NoError(x.t, x.Commit())
}

// put commits samples in one transaction.
func put(t testing.TB, b *Backend, ss ...storagetest.Sample) {
	t.Helper()
	x := begin(t, b)
	for _, s := range ss {
		x.add(s)
	}
	x.commit()
}

func named(name string) labels.Labels {
	return labels.FromStrings("__name__", name, "job", "test")
}

func intHistogram(n int64) *histogram.Histogram {
	return &histogram.Histogram{
		Schema: 1, Count: uint64(n), Sum: float64(n),
		PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []int64{n},
	}
}

func TestReopenKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().UnixMilli()
	want := []storagetest.Sample{
		{Labels: named("float"), ST: now - 9000, T: now, V: 1.5, Exemplars: []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "a"), Value: 1, Ts: now - 5, HasTs: true}}},
		{Labels: named("int"), ST: now - 9000, T: now, H: intHistogram(3)},
		{Labels: named("floathist"), ST: now - 9000, T: now, FH: intHistogram(4).ToFloat(nil)},
		{Labels: named("late"), ST: now - 9000, T: now - 60_000, V: 7},
		{Labels: named("late"), ST: now - 8000, T: now, V: 8},
		{Labels: named("latehist"), ST: now - 9000, T: now - 60_000, H: intHistogram(1)},
		{Labels: named("latehist"), ST: now - 8000, T: now, H: intHistogram(2)},
	}
	b := open(t, Options{Dir: dir})
	// Newest first, each in its own transaction: the older ones are late.
	for i := len(want) - 1; i >= 0; i-- {
		put(t, b, want[i])
	}
	check := func(b *Backend) {
		for i, s := range want {
			got := read(t, b, s.Labels)
			require.Contains(t, storagetest.Text(got), storagetest.Text(want[i:i+1]))
		}
	}
	check(b)
	require.NoError(t, b.Close(t.Context()))
	check(open(t, Options{Dir: dir}))
}

func TestDirIsLocked(t *testing.T) {
	b := open(t, Options{})
	_, err := Open(Options{Dir: b.opts.Dir, Logger: quiet})
	require.ErrorContains(t, err, b.opts.Dir)
}

func TestOptionsTellAllFaults(t *testing.T) {
	_, err := Open(Options{RetentionTime: -1, RetentionSize: -1, OutOfOrderTimeWindow: -1, MaxExemplars: -1, MaxMetadata: -1})
	for _, key := range []string{"storage.path", "retention.time", "retention.size", "out_of_order_time_window", "max_exemplars", "MaxMetadata"} {
		require.ErrorContains(t, err, key)
	}
}

func TestCloseWaitsForTransactions(t *testing.T) {
	b := open(t, Options{})
	now := time.Now().UnixMilli()
	x := begin(t, b)
	x.add(storagetest.Sample{Labels: named("a"), T: now, V: 1})
	q, err := b.Querier(now, now)
	require.NoError(t, err)

	closed := make(chan error)
	go func() { closed <- b.Close(t.Context()) }()
	x.commit() // Works whether Close has begun or not.
	select {
	case <-closed:
		t.Fatal("closed under an open querier")
	default:
	}
	require.NoError(t, q.Close())
	require.NoError(t, <-closed)

	_, err = b.Querier(now, now)
	require.ErrorIs(t, err, errClosed)
	eq, err := b.ExemplarQuerier(t.Context())
	require.NoError(t, err)
	_, err = eq.Select(now, now)
	require.ErrorIs(t, err, errClosed)
	require.ErrorIs(t, b.Ready(), errClosed)
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	o := Options{Dir: t.TempDir(), Registerer: reg}
	b := open(t, o)
	gathered, err := reg.Gather()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range gathered {
		names[f.GetName()] = true
	}
	for _, name := range append(failureNames, "otlpgw_local_available", "otlpgw_local_refused_samples_total") {
		require.Contains(t, names, name)
	}
	require.NoError(t, b.Close(t.Context()))
}
