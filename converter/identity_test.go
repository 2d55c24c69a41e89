package converter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// The order of attributes is no identity, however many orders a sender finds:
// beyond what the cache remembers of spellings it takes the longer way to the
// same series: slower, never different.
func TestAttributeOrderIsNoIdentity(t *testing.T) {
	b := newBench(t, readSettings(t, nil))
	rnd := rand.New(rand.NewPCG(3, 3))
	attributes := []string{`"a" = "1"`, `"b" = "2"`, `"c" = "3"`, `"d" = "4"`, `"e" = "5"`}
	push := func(ms, value int) (stored string, rejected int) {
		rnd.Shuffle(len(attributes), func(i, j int) { attributes[i], attributes[j] = attributes[j], attributes[i] })
		req, err := convertertest.Metrics(fmt.Sprintf(
			`metrics { name: "m" gauge { data_points { time_unix_nano: @%d as_int: %d attributes: %s } } }`,
			ms, value, strings.Join(attributes, " attributes: ")))
		require.NoError(t, err)
		report, err := b.push(convertertest.Ascending(req), false)
		require.NoError(t, err)
		return b.take(t, 0).series, report.Rejected
	}
	for n := 1; n <= 60; n++ {
		stored, rejected := push(1000*n, n)
		require.Equal(t, fmt.Sprintf("m{a=\"1\", b=\"2\", c=\"3\", d=\"4\", e=\"5\", instance=\"a1\", job=\"shop\"} %d @%d\n", n, 1000*n), stored)
		require.Zero(t, rejected)

		stored, rejected = push(1000*n, n)
		require.Empty(t, stored, "a retry in another order")
		require.Zero(t, rejected)

		stored, rejected = push(1000*n, n+1)
		require.Empty(t, stored, "a conflict in another order")
		require.Equal(t, 1, rejected)
	}
}

// A refusal by Append costs the point that it belongs to, once, whichever of
// its series it is; the neighbours are stored.
func TestAppendRefuses(t *testing.T) {
	for nth := 2; nth <= 6; nth++ {
		b := newBench(t, readSettings(t, nil))
		b.rec.FailAppend(nth, promstorage.ErrOutOfOrderSample)
		report, err := b.push(refusable(t), false)
		require.NoError(t, err)
		require.Equal(t, 3, report.Points)
		require.Equal(t, 1, report.Rejected)
		require.Contains(t, report.Message, "hist")
		stored := b.take(t, 0).series
		require.Contains(t, stored, "first{")
		require.Contains(t, stored, "last{")
		require.Less(t, strings.Count(stored, "hist_"), 5)
	}
}

// Any other error of Append ends the transaction: nothing is stored, the client
// retries, and the retry delivers everything.
func TestAppendBreaks(t *testing.T) {
	for nth := 1; nth <= 7; nth++ {
		b := newBench(t, readSettings(t, nil))
		b.rec.FailAppend(nth, errors.New("disk full"))
		_, err := b.push(refusable(t), false)
		var e *storage.Error
		require.True(t, errors.As(err, &e), "%v", err)
		require.Equal(t, storage.KindUnavailable, e.Kind)
		require.ErrorContains(t, err, "disk full")
		require.Empty(t, b.rec.Samples())
		require.Equal(t, 1, b.rec.Counts().Rollback)
		require.Zero(t, b.rec.Counts().Commit)

		report, err := b.push(refusable(t), false)
		require.NoError(t, err)
		require.Zero(t, report.Rejected, report.Message)
		b.rec.AssertClean(t)
		require.Len(t, b.rec.Samples(), 7)
	}
}

// refusable is a gauge, a histogram of five series, and a gauge.
func refusable(t *testing.T) []byte {
	t.Helper()
	req, err := convertertest.Metrics(`
		metrics { name: "first" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } }
		metrics { name: "hist" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @1000 count: 3 sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] } } }
		metrics { name: "last" gauge { data_points { time_unix_nano: @1000 as_int: 3 } } }`)
	require.NoError(t, err)
	return convertertest.Ascending(req)
}

// A refused sample was not acknowledged: the same point again is not taken for
// a retry of what is stored.
func TestRefusedIsNotAcknowledged(t *testing.T) {
	b := newBench(t, readSettings(t, nil))
	b.rec.FailCommit(commitError(t, "refused 0-0"))
	report, err := b.push(refusable(t), false)
	require.NoError(t, err)
	require.Equal(t, 1, report.Rejected)
	require.NotContains(t, b.take(t, 0).series, "first{")

	report, err = b.push(refusable(t), false)
	require.NoError(t, err)
	require.Zero(t, report.Rejected)
	require.Equal(t, "first{instance=\"a1\", job=\"shop\"} 1 @1000\n", b.take(t, 0).series)
}

// Tenants share nothing: what one tenant sent is neither a retry nor a conflict
// for another.
func TestTenantsAreApart(t *testing.T) {
	b := newBench(t, readSettings(t, nil))
	for value, tenant := range []string{"", "a", "b"} {
		req, err := convertertest.Metrics(fmt.Sprintf(
			`metrics { name: "m" gauge { data_points { time_unix_nano: @1000 as_int: %d } } }`, value))
		require.NoError(t, err)
		body := convertertest.Ascending(req)
		for _, stored := range []string{fmt.Sprintf("m{instance=\"a1\", job=\"shop\"} %d @1000\n", value), ""} {
			report, err := b.line.Push(context.Background(), converter.Request{Tenant: tenant, Body: body})
			require.NoError(t, err)
			require.Equal(t, converter.Report{Points: 1}, report)
			require.Equal(t, stored, b.take(t, 0).series)
		}
	}
}

// A backend that panics takes neither the pipeline nor a lock with it: the
// transaction is rolled back, the slot given back, and the next request is
// served as if nothing had been.
func TestPanickingBackend(t *testing.T) {
	backend := &panicking{Recorder: storagetest.NewRecorder()}
	o := readSettings(t, nil).options()
	o.Backend, o.Now = backend, func() time.Time { return time.UnixMilli(3_600_000) }
	line, err := converter.New(o)
	require.NoError(t, err)
	for range 3 {
		backend.left = 4
		converted := 0
		require.PanicsWithValue(t, "out of luck", func() {
			_, _ = line.Push(context.Background(), converter.Request{Body: refusable(t), Converted: func() { converted++ }})
		})
		require.Equal(t, 1, converted)
		require.Empty(t, backend.Samples())
	}
	require.Equal(t, 3, backend.Counts().Rollback)

	backend.left = 100
	report, err := line.Push(context.Background(), converter.Request{Body: refusable(t)})
	require.NoError(t, err)
	require.Equal(t, converter.Report{Points: 3}, report)
	require.Len(t, backend.Samples(), 7)
	backend.AssertClean(t)
}

// panicking is a recorder whose appends panic when luck runs out.
type panicking struct {
	*storagetest.Recorder
	left int
}

func (p *panicking) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return &panickingAppender{p.Recorder.AppenderV2(ctx), p}
}

type panickingAppender struct {
	promstorage.AppenderV2
	backend *panicking
}

func (a *panickingAppender) Append(ref promstorage.SeriesRef, ls labels.Labels, st, ms int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if a.backend.left == 0 {
		panic("out of luck")
	}
	a.backend.left--
	return a.AppenderV2.Append(ref, ls, st, ms, v, h, fh, opts)
}
