package storagetest

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
)

// Run checks that a backend keeps the contract of [storage.Backend]. It calls
// open for each of its subtests.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, h *Harness)
	}{
		{"ready until closed", readyUntilClosed},
		{"a ref is stable and not zero", refIsStable},
		{"an unknown ref is looked up by labels", unknownRef},
		{"refs never cross series", refsNeverCross},
		{"a forgotten ref is unknown", forgottenRef},
		{"a commit's nil means readable", nilMeansReadable},
		{"an empty transaction commits", emptyCommit},
		{"a rollback stores nothing", rollbackStoresNothing},
		{"a refused sample costs only itself", refusedCostsItself},
		{"a settled transaction is dead", settledIsDead},
		{"what is the caller's is not kept", callersMemory},
		{"overlapping floats, commits reversed", overlapFloats},
		{"overlapping histograms, commits reversed", overlapHistograms},
		{"overlapping float histograms, commits reversed", overlapFloatHistograms},
		{"the same sample twice is stored once", sameTwice},
		{"many transactions at once", concurrent},
		{"closed is unavailable", closedIsUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t)
			if h.Now == 0 {
				h.Now = time.Now().UnixMilli()
			}
			// Closing twice is allowed, so tests that closed it need not say so.
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
				defer cancel()
				assert.NoError(t, h.Backend.Close(ctx), "Close")
			})
			c.run(t, &h)
		})
	}
}

func readyUntilClosed(t *testing.T, h *Harness) {
	require.NoError(t, h.Backend.Ready())
	require.NoError(t, h.Backend.Close(t.Context()))
	require.Error(t, h.Backend.Ready(), "Ready after Close")
}

func refIsStable(t *testing.T, h *Harness) {
	a, b := seriesOf(0), seriesOf(1)
	x := h.begin(t)
	refA := x.add(0, Sample{Labels: a, T: h.Now - 3000, V: 1})
	refB := x.add(0, Sample{Labels: b, T: h.Now - 3000, V: 2})
	require.NotEqual(t, refA, refB)
	require.Equal(t, refA, x.add(refA, Sample{Labels: a, T: h.Now - 2000, V: 3}), "with its ref, same transaction")
	require.Equal(t, refB, x.add(0, Sample{Labels: b, T: h.Now - 2000, V: 4}), "by labels, same transaction")
	x.commit()

	x = h.begin(t)
	require.Equal(t, refB, x.add(refB, Sample{Labels: b, T: h.Now - 1000, V: 5}), "with its ref, next transaction")
	require.Equal(t, refA, x.add(0, Sample{Labels: a, T: h.Now - 1000, V: 6}), "by labels, next transaction")
	x.commit()

	h.stored(t, a, Sample{Labels: a, T: h.Now - 3000, V: 1}, Sample{Labels: a, T: h.Now - 2000, V: 3}, Sample{Labels: a, T: h.Now - 1000, V: 6})
	h.stored(t, b, Sample{Labels: b, T: h.Now - 3000, V: 2}, Sample{Labels: b, T: h.Now - 2000, V: 4}, Sample{Labels: b, T: h.Now - 1000, V: 5})
}

func unknownRef(t *testing.T, h *Harness) {
	a, b := seriesOf(0), seriesOf(1)
	x := h.begin(t)
	refA := x.add(0, Sample{Labels: a, T: h.Now - 2000, V: 1})
	x.commit()

	x = h.begin(t)
	require.Equal(t, refA, x.add(refA+1<<20, Sample{Labels: a, T: h.Now - 1000, V: 2}))
	refB := x.add(refA+1<<21, Sample{Labels: b, T: h.Now - 1000, V: 3})
	require.NotEqual(t, refA, refB, "an unknown ref with unknown labels is a new series")
	x.commit()
	h.stored(t, a, Sample{Labels: a, T: h.Now - 2000, V: 1}, Sample{Labels: a, T: h.Now - 1000, V: 2})
	h.stored(t, b, Sample{Labels: b, T: h.Now - 1000, V: 3})
}

func refsNeverCross(t *testing.T, h *Harness) {
	const series = 200
	refs := map[promstorage.SeriesRef]int{}
	byIndex := make([]promstorage.SeriesRef, series)
	for round := range 3 {
		x := h.begin(t)
		for i := range series {
			// Another order each round; 7 and 200 have no common divisor.
			n := (i*7 + round*31) % series
			ref := x.add(byIndex[n], Sample{Labels: seriesOf(n), T: h.Now - 3000 + int64(round)*1000, V: float64(n*10 + round)})
			if other, ok := refs[ref]; ok {
				require.Equal(t, other, n, "ref %d", ref)
			}
			refs[ref], byIndex[n] = n, ref
		}
		x.commit()
	}
	require.Len(t, refs, series)
	for n := range series {
		ls := seriesOf(n)
		h.stored(t, ls,
			Sample{Labels: ls, T: h.Now - 3000, V: float64(n * 10)},
			Sample{Labels: ls, T: h.Now - 2000, V: float64(n*10 + 1)},
			Sample{Labels: ls, T: h.Now - 1000, V: float64(n*10 + 2)})
	}
}

func forgottenRef(t *testing.T, h *Harness) {
	f, ok := h.Backend.(storage.Forgetter)
	if !ok {
		t.Skip("the backend keeps nothing per ref")
	}
	a, b := seriesOf(0), seriesOf(1)
	x := h.begin(t)
	refA := x.add(0, Sample{Labels: a, T: h.Now - 2000, V: 1})
	x.commit()
	f.Forget([]promstorage.SeriesRef{refA})

	x = h.begin(t)
	require.NotEqual(t, refA, x.add(0, Sample{Labels: b, T: h.Now - 1000, V: 2}), "a ref is never reused")
	x.add(refA, Sample{Labels: a, T: h.Now - 1000, V: 3})
	x.commit()
	h.stored(t, a, Sample{Labels: a, T: h.Now - 2000, V: 1}, Sample{Labels: a, T: h.Now - 1000, V: 3})
	h.stored(t, b, Sample{Labels: b, T: h.Now - 1000, V: 2})
}

func nilMeansReadable(t *testing.T, h *Harness) {
	want := []Sample{
		{Labels: seriesOf(0), ST: h.Now - 9000, T: h.Now, V: 0.5, Exemplars: []exemplar.Exemplar{
			{Labels: labels.FromStrings("trace_id", "f00"), Value: 0.25, Ts: h.Now - 10, HasTs: true},
		}},
		{Labels: seriesOf(1), T: h.Now, H: intHistogram(3), Exemplars: []exemplar.Exemplar{
			{Labels: labels.FromStrings("trace_id", "ba1"), Value: 1.25, Ts: h.Now - 20, HasTs: true},
			{Labels: labels.FromStrings("trace_id", "ba2"), Value: 1.5, Ts: h.Now - 10, HasTs: true},
		}},
		{Labels: seriesOf(2), ST: h.Now - 9000, T: h.Now, FH: floatHistogram(4)},
	}
	x := h.begin(t)
	for _, s := range want {
		x.add(0, s)
	}
	x.commit()
	for _, s := range want {
		h.stored(t, s.Labels, s)
	}
}

func emptyCommit(t *testing.T, h *Harness) {
	h.begin(t).commit()
	require.NoError(t, h.begin(t).Rollback())
}

func rollbackStoresNothing(t *testing.T, h *Harness) {
	a, b := seriesOf(0), seriesOf(1)
	x := h.begin(t)
	ref := x.add(0, Sample{Labels: a, T: h.Now - 3000, V: 1})
	x.add(0, Sample{Labels: b, T: h.Now - 3000, H: intHistogram(1)})
	require.NoError(t, x.Rollback())
	h.stored(t, a)
	h.stored(t, b)

	// The ref that the rolled-back transaction handed out is the caller's now.
	x = h.begin(t)
	x.add(ref, Sample{Labels: a, T: h.Now - 2000, V: 2})
	x.commit()
	h.stored(t, a, Sample{Labels: a, T: h.Now - 2000, V: 2})
	h.stored(t, b)
}

func refusedCostsItself(t *testing.T, h *Harness) {
	if h.Refused == nil {
		t.Skip("the backend refuses no sample in Append")
	}
	a := seriesOf(0)
	x := h.begin(t)
	x.add(0, Sample{Labels: a, T: h.Now - 2000, V: 1})
	err := h.Refused(x.AppenderV2)
	require.Error(t, err)
	_, ok := storage.RefusalReason(err)
	require.True(t, ok, "storage.RefusalReason must know %v", err)
	x.add(0, Sample{Labels: a, T: h.Now - 1000, V: 2})
	x.commit()
	h.stored(t, a, Sample{Labels: a, T: h.Now - 2000, V: 1}, Sample{Labels: a, T: h.Now - 1000, V: 2})
}

func settledIsDead(t *testing.T, h *Harness) {
	if _, ok := h.Backend.(*Recorder); ok {
		t.Skip("the recorder counts this as a violation")
	}
	a := seriesOf(0)
	x := h.begin(t)
	x.add(0, Sample{Labels: a, T: h.Now, V: 1})
	x.commit()
	require.Error(t, x.Commit(), "second Commit")

	x = h.begin(t)
	x.add(0, Sample{Labels: a, T: h.Now + 1000, V: 2})
	require.NoError(t, x.Rollback())
	require.Error(t, x.Commit(), "Commit after Rollback")
	h.stored(t, a, Sample{Labels: a, T: h.Now, V: 1})
}

// callersMemory overwrites what the contract leaves to the caller as soon as
// Append has returned.
func callersMemory(t *testing.T, h *Harness) {
	a, b := seriesOf(0), seriesOf(1)
	name := make([]byte, len("contract_total"))
	exemplars := []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "mine"), Value: 1, Ts: h.Now - 500, HasTs: true}}
	want := []exemplar.Exemplar{exemplars[0]}

	x := h.begin(t)
	x.target(a)
	for i, s := range []Sample{{Labels: a, T: h.Now, V: 7}, {Labels: b, T: h.Now, H: intHistogram(5)}} {
		exemplars[0] = want[0]
		copy(name, "contract_total")
		_, err := x.Append(0, s.Labels, 0, s.T, s.V, s.H, nil, promstorage.AppendV2Options{
			MetricFamilyName: unsafe.String(&name[0], len(name)),
			Exemplars:        exemplars,
		})
		require.NoError(t, err)
		exemplars[0] = exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "overwritten"), Value: float64(i), Ts: 1, HasTs: true}
		for i := range name {
			name[i] = 0xCC
		}
	}
	x.commit()
	h.stored(t, a, Sample{Labels: a, T: h.Now, V: 7, Exemplars: want})
	h.stored(t, b, Sample{Labels: b, T: h.Now, H: intHistogram(5), Exemplars: want})
}

func closedIsUnavailable(t *testing.T, h *Harness) {
	x := h.begin(t)
	x.add(0, Sample{Labels: seriesOf(0), T: h.Now, V: 1})
	x.commit()
	require.NoError(t, h.Backend.Close(t.Context()))

	x = h.begin(t)
	_, err := x.Append(0, seriesOf(0), 0, h.Now+1000, 2, nil, nil, promstorage.AppendV2Options{})
	if err == nil {
		err = x.Commit()
	} else {
		// Settled all the same; what that returns now does not matter.
		_ = x.Rollback()
	}
	require.Error(t, err, "Append or Commit after Close")
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, storage.KindUnavailable, e.Kind)
	_, refused := storage.RefusalReason(err)
	require.False(t, refused, "the samples are not to blame: %v", err)
}
