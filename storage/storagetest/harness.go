package storagetest

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
)

// Harness is a fresh backend under test and a way to look into it.
type Harness struct {
	// Backend is empty and ready. The suite closes it.
	Backend storage.Backend

	// Read returns all stored samples of the series with exactly these labels,
	// ascending by time. It need not fill Ref, Tx, Index, Target, Metadata and
	// MetricFamilyName. It is not called after Close.
	Read func(t testing.TB, ls labels.Labels) []Sample

	// Now is the time of the newest sample that the suite appends, in ms; zero
	// is the time of the call. Older ones are at most a minute older.
	Now int64

	// InLine says that a Commit waits for the transactions that appended to its
	// targets before it. The suite then commits at once what it would have
	// committed one after the other.
	InLine bool

	// Refused appends a sample that this backend must refuse, and returns
	// Append's error. Nil if there is no such sample.
	Refused func(app promstorage.AppenderV2) error

	// Repeats says that a sample that is given twice may be read twice: somebody
	// behind the backend settles it.
	Repeats bool

	// NoExemplars and NoStartTime say what the backend does not keep.
	NoExemplars, NoStartTime bool
}

// commitTimeout bounds a transaction of the suite. A backend that waits for
// ever fails by it.
const commitTimeout = 30 * time.Second

// tx is one transaction of the suite.
type tx struct {
	promstorage.AppenderV2
	t testing.TB
}

func (h *Harness) begin(t testing.TB) tx {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	t.Cleanup(cancel)
	return tx{h.Backend.AppenderV2(ctx), t}
}

// target announces the series' target, as the converter does.
func (x tx) target(ls labels.Labels) {
	if ta, ok := x.AppenderV2.(storage.TargetAppender); ok {
		ta.Target(labels.StableHash(labels.FromStrings("job", ls.Get("job"), "instance", ls.Get("instance"))))
	}
}

func (x tx) add(ref promstorage.SeriesRef, s Sample) promstorage.SeriesRef {
	x.t.Helper()
	x.target(s.Labels)
	got, err := x.Append(ref, s.Labels, s.ST, s.T, s.V, s.H, s.FH, promstorage.AppendV2Options{Exemplars: s.Exemplars})
	require.NoError(x.t, err, "Append of %s at %d", s.Labels, s.T)
	require.NotZero(x.t, got, "ref of %s", s.Labels)
	return got
}

func (x tx) commit() {
	x.t.Helper()
	require.NoError(x.t, x.Commit(), "Commit")
}

// commitInOrder commits the transactions in the order given, whatever the
// order in which they appended.
func (h *Harness) commitInOrder(t testing.TB, txs ...tx) {
	t.Helper()
	if !h.InLine {
		for _, x := range txs {
			x.commit()
		}
		return
	}
	errs := make(chan error, len(txs))
	for _, x := range txs {
		go func() { errs <- x.Commit() }()
	}
	for range txs {
		require.NoError(t, <-errs, "Commit")
	}
}

// stored reads a series back and compares it with what it must hold.
func (h *Harness) stored(t testing.TB, ls labels.Labels, want ...Sample) {
	t.Helper()
	got := h.Read(t, ls)
	for i := range got {
		got[i].Labels = ls
	}
	require.Equal(t, h.text(want), h.text(got), "what is stored of %s", ls)
}

func (h *Harness) text(samples []Sample) string {
	out := make([]Sample, len(samples))
	for i, s := range samples {
		if h.NoStartTime {
			s.ST = 0
		}
		if h.NoExemplars {
			s.Exemplars = nil
		}
		// A store may find out whether the counter was reset.
		if s.H != nil && s.H.CounterResetHint != histogram.GaugeType {
			s.H = s.H.Copy()
			s.H.CounterResetHint = histogram.UnknownCounterReset
		}
		if s.FH != nil && s.FH.CounterResetHint != histogram.GaugeType {
			s.FH = s.FH.Copy()
			s.FH.CounterResetHint = histogram.UnknownCounterReset
		}
		out[i] = s
	}
	return Text(out)
}

// seriesOf returns the labels of the suite's nth series.
func seriesOf(n int) labels.Labels {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	name := ""
	for i := n; ; i /= len(letters) {
		name = letters[i%len(letters):][:1] + name
		if i < len(letters) {
			break
		}
	}
	return labels.FromStrings("__name__", "contract_total", "instance", "i-"+name, "job", "suite")
}

// intHistogram returns a valid native histogram with n observations.
func intHistogram(n int64) *histogram.Histogram {
	return &histogram.Histogram{
		Schema: 2, Count: uint64(2*n + 1), Sum: float64(n) * 1.5,
		ZeroThreshold: 0.001, ZeroCount: 1,
		PositiveSpans:   []histogram.Span{{Offset: 1, Length: 2}},
		PositiveBuckets: []int64{n, 0},
	}
}

func floatHistogram(n int64) *histogram.FloatHistogram { return intHistogram(n).ToFloat(nil) }
