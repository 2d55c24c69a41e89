package storagetest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
)

func TestRecorderKeepsTheContract(t *testing.T) {
	Run(t, func(t *testing.T) Harness {
		r := NewRecorder()
		t.Cleanup(func() { r.AssertClean(t) })
		return Harness{
			Backend: r,
			Read:    r.Series,
			Repeats: true,
			Refused: func(app promstorage.AppenderV2) error {
				r.FailAppend(1, promstorage.ErrTooOldSample)
				_, err := app.Append(0, seriesOf(0), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
				return err
			},
		}
	})
}

// rawLabels builds labels without putting them right.
func rawLabels(pairs ...string) labels.Labels {
	b := labels.NewScratchBuilder(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		b.Add(pairs[i], pairs[i+1])
	}
	return b.Labels()
}

func appendTo(t *testing.T, app promstorage.AppenderV2, ls labels.Labels, ts int64) {
	t.Helper()
	_, err := app.Append(0, ls, 0, ts, 1, nil, nil, promstorage.AppendV2Options{})
	require.NoError(t, err)
}

func TestRecorderText(t *testing.T) {
	r := NewRecorder()
	app := r.AppenderV2(t.Context())
	add := func(ls labels.Labels, st, ts int64, v float64, h *histogram.Histogram, o promstorage.AppendV2Options) {
		_, err := app.Append(0, ls, st, ts, v, h, nil, o)
		require.NoError(t, err)
	}
	total := labels.FromStrings("__name__", "x_total", "a", "b")
	add(total, 5, 2000, 12345678, nil, promstorage.AppendV2Options{
		MetricFamilyName: "x",
		Metadata:         metadata.Metadata{Type: model.MetricTypeCounter, Help: "X \"s\"."},
		Exemplars: []exemplar.Exemplar{
			{Labels: labels.EmptyLabels(), Value: 1},
			{Labels: labels.FromStrings("trace_id", "f00"), Value: 0.5, Ts: 1990, HasTs: true},
		},
	})
	add(total, 0, 1000, 0.25, nil, promstorage.AppendV2Options{})
	add(labels.FromStrings("__name__", "stale"), 0, 1, math.Float64frombits(value.StaleNaN), nil, promstorage.AppendV2Options{})
	add(labels.FromStrings("__name__", "näme", "b", "c"), 0, 1, 1e-9, nil, promstorage.AppendV2Options{})
	add(labels.FromStrings("__name__", "h"), 0, 1, 0, intHistogram(2), promstorage.AppendV2Options{})
	require.NoError(t, app.Commit())

	require.Equal(t, strings.TrimLeft(`
h {{schema:2 count:5 sum:3 z_bucket:1 z_bucket_w:0.001 offset:1 buckets:[2 2]}} @1
{__name__="näme", b="c"} 1e-09 @1
stale stale @1
x_total{a="b"} 0.25 @1000
x_total{a="b"} 12345678 @2000 st=5
  # {} 1
  # {trace_id="f00"} 0.5 @1990
`, "\n"), r.Text())
	require.Equal(t, "x counter unit=\"\" help=\"X \\\"s\\\".\"\n", r.MetadataText())
	r.AssertClean(t)

	r.Reset()
	require.Empty(t, r.Text())
	require.Empty(t, r.MetadataText())
	require.Zero(t, r.Counts())
}

func TestRecorderFailsTheNthAppend(t *testing.T) {
	r := NewRecorder()
	app := r.AppenderV2(t.Context())
	appendTo(t, app, seriesOf(0), 1)
	r.FailAppend(2, promstorage.ErrOutOfOrderSample)
	appendTo(t, app, seriesOf(0), 2)
	_, err := app.Append(0, seriesOf(0), 0, 3, 1, nil, nil, promstorage.AppendV2Options{})
	require.ErrorIs(t, err, promstorage.ErrOutOfOrderSample)
	appendTo(t, app, seriesOf(0), 4)
	require.NoError(t, app.Commit())
	require.Equal(t, Counts{Begin: 1, Append: 4, Refused: 1, Commit: 1}, r.Counts())
	require.Len(t, r.Samples(), 3)
	require.Equal(t, 2, r.Samples()[2].Index, "only appends that succeeded are numbered")
}

func TestRecorderFailsCommits(t *testing.T) {
	r := NewRecorder()
	disk := errors.New("disk full")
	r.FailCommit(disk, nil, storage.Unavailable(disk, 0), &storage.Error{
		Kind: storage.KindRefused, Refused: []storage.Refusal{{First: 1, Last: 2, Count: 2}},
	})
	for i, want := range []error{disk, nil, disk} {
		app := r.AppenderV2(t.Context())
		appendTo(t, app, seriesOf(0), int64(i))
		require.ErrorIs(t, app.Commit(), want)
	}
	app := r.AppenderV2(t.Context())
	for ts := range int64(4) {
		appendTo(t, app, seriesOf(1), ts)
	}
	var e *storage.Error
	require.ErrorAs(t, app.Commit(), &e)
	require.Equal(t, storage.KindRefused, e.Kind)

	require.Len(t, r.Series(t, seriesOf(0)), 1)
	got := r.Series(t, seriesOf(1))
	require.Len(t, got, 2)
	require.Equal(t, []int64{0, 3}, []int64{got[0].T, got[1].T})
	require.Equal(t, 3, r.Counts().Failed)
	r.AssertClean(t)
}

func TestRecorderHoldsCommits(t *testing.T) {
	r := NewRecorder()
	gate := r.HoldCommits()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make([]chan error, 3)
	for i := range done {
		app := r.AppenderV2(ctx)
		appendTo(t, app, seriesOf(i), 1)
		done[i] = make(chan error, 1)
		go func() { done[i] <- app.Commit() }()
	}
	held := map[int]*Held{}
	for range done {
		h := <-gate.Arrived
		held[h.Tx] = h
	}
	require.Empty(t, r.Samples())

	held[2].Release()
	require.NoError(t, <-done[1])
	require.Len(t, r.Samples(), 1)

	held[1].Release()
	require.NoError(t, <-done[0])
	gone := errors.New("client went away")
	cancel(gone)
	err := <-done[2]
	require.ErrorIs(t, err, gone)
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, storage.KindUnavailable, e.Kind)

	gate.Open()
	app := r.AppenderV2(t.Context())
	appendTo(t, app, seriesOf(3), 1)
	require.NoError(t, app.Commit())
	require.Len(t, r.Samples(), 3)
}

func TestRecorderReady(t *testing.T) {
	r := NewRecorder()
	busy := errors.New("busy")
	r.SetReady(busy)
	require.ErrorIs(t, r.Ready(), busy)
	r.SetReady(nil)
	require.NoError(t, r.Ready())
}

func TestRecorderSeesMisuse(t *testing.T) {
	ls := seriesOf(0)
	for name, c := range map[string]struct {
		misuse func(r *Recorder, app promstorage.AppenderV2)
		want   string
	}{
		"open": {func(*Recorder, promstorage.AppenderV2) {}, "1 transactions are still open"},
		"append after commit": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Commit()
			app.Append(0, ls, 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
		}, "after Commit of transaction 1"},
		"rollback after commit": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Commit()
			app.Rollback()
		}, "Rollback after Commit of transaction 1"},
		"commit twice": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Commit()
			app.Commit()
		}, "Commit after Commit"},
		"unsorted": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Append(0, rawLabels("b", "1", "a", "1"), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
			app.Rollback()
		}, `comes after "b"`},
		"repeated": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Append(0, rawLabels("a", "1", "a", "2"), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
			app.Rollback()
		}, `is there twice`},
		"empty value": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Append(0, rawLabels("a", ""), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
			app.Rollback()
		}, `has no value`},
		"no labels": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Append(0, labels.EmptyLabels(), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
			app.Rollback()
		}, `without labels`},
		"exemplars": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Append(0, ls, 0, 1, 1, nil, nil, promstorage.AppendV2Options{Exemplars: []exemplar.Exemplar{{Ts: 2}, {Ts: 1}}})
			app.Rollback()
		}, "not ascending"},
		"crossed ref": {func(_ *Recorder, app promstorage.AppenderV2) {
			ref, _ := app.Append(0, ls, 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
			app.Append(ref, seriesOf(1), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
			app.Commit()
		}, "was used for"},
		"invalid histogram": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Append(0, ls, 0, 1, 0, &histogram.Histogram{Count: 1}, nil, promstorage.AppendV2Options{})
			app.Rollback()
		}, "invalid histogram"},
		"two values": {func(_ *Recorder, app promstorage.AppenderV2) {
			app.Append(0, ls, 0, 1, 0, intHistogram(1), floatHistogram(1), promstorage.AppendV2Options{})
			app.Rollback()
		}, "in one Append"},
		"histogram reused": {func(_ *Recorder, app promstorage.AppenderV2) {
			h := intHistogram(1)
			app.Append(0, ls, 0, 1, 0, h, nil, promstorage.AppendV2Options{})
			app.Commit()
			h.Sum++
		}, "memory changed after Append: histogram"},
		"label bytes reused": {func(_ *Recorder, app promstorage.AppenderV2) {
			b := []byte("body")
			app.Append(0, ls, 0, 1, 1, nil, nil, promstorage.AppendV2Options{Metadata: metadata.Metadata{Help: unsafe.String(&b[0], len(b))}})
			app.Commit()
			b[0] = 0xCC
		}, "memory changed after Append: metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder()
			c.misuse(r, r.AppenderV2(t.Context()))
			got := r.Violations()
			require.NotEmpty(t, got)
			require.Contains(t, strings.Join(got, "\n"), c.want)
			require.Equal(t, got, r.Violations(), "looking again finds the same")
		})
	}
}

func TestDiscardRefs(t *testing.T) {
	d := NewDiscard()
	app := d.AppenderV2(t.Context())
	a, err := app.Append(0, seriesOf(0), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
	require.NoError(t, err)
	require.NotZero(t, a)
	b, err := app.Append(a+1<<20, seriesOf(1), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	again, err := app.Append(0, seriesOf(0), 0, 2, 1, nil, nil, promstorage.AppendV2Options{})
	require.NoError(t, err)
	require.Equal(t, a, again)
	require.Equal(t, 2, d.Series())
	require.NoError(t, app.Commit())

	require.NoError(t, d.Ready())
	require.NoError(t, d.Close(t.Context()))
	require.Error(t, d.Ready())
	_, err = d.AppenderV2(t.Context()).Append(a, seriesOf(0), 0, 3, 1, nil, nil, promstorage.AppendV2Options{})
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	require.ErrorAs(t, app.Commit(), &e)
}
