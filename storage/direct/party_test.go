package direct

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// both opens a backend with two destinations, named a and b.
func both(t *testing.T, change ...func(*Options)) (a, b *storagetest.FarEnd, backend *Backend) {
	a, b = storagetest.NewFarEnd(t), storagetest.NewFarEnd(t)
	return a, b, openTo(t, a, append([]func(*Options){func(o *Options) {
		o.Destinations[0].Name = "a"
		second := remotewrite.DefaultDestinationOptions(b.URL())
		second.Name = "b"
		o.Destinations = append(o.Destinations, second)
	}}, change...)...)
}

func commit(t *testing.T, b *Backend, targets ...uint64) *storage.Error {
	t.Helper()
	x := begin(t, b)
	for _, target := range targets {
		x.add(target, time.Now().UnixMilli())
	}
	err := x.Commit()
	if err == nil {
		return nil
	}
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	return e
}

func TestEveryRequiredDestinationMustAccept(t *testing.T) {
	a, b, backend := both(t)
	require.Nil(t, commit(t, backend, 0, 1))
	require.Len(t, a.Stored(), 2)
	require.Len(t, b.Stored(), 2)

	b.Next(storagetest.Answer{Status: 401, Body: "no"})
	e := commit(t, backend, 0)
	require.Equal(t, storage.KindUnavailable, e.Kind)
	require.ErrorContains(t, e, "b: 401")
	require.Len(t, a.Stored(), 3)
}

func TestTheWorstOfSeveralAnswers(t *testing.T) {
	refuse := func(series string) func(storagetest.Sample) bool {
		return func(s storagetest.Sample) bool { return strings.Contains(series, s.Labels.Get("job")) }
	}
	t.Run("refusals of both", func(t *testing.T) {
		a, b, backend := both(t)
		a.Always(storagetest.Answer{Status: 400, Refuse: refuse("0")})
		b.Always(storagetest.Answer{Status: 400, Refuse: refuse("02")})
		e := commit(t, backend, 0, 1, 2, 3)
		require.Equal(t, storage.KindRefused, e.Kind)
		require.Equal(t, []int{0, 3, 2}, ranges(e), "a refuses one that it does not name, b these two")
	})
	t.Run("away beats refused and throttled", func(t *testing.T) {
		a, b, backend := both(t)
		a.Next(storagetest.Answer{Status: 429, Header: map[string]string{"Retry-After": "50"}}, storagetest.Answer{Status: 400, Refuse: refuse("1")})
		b.Next(storagetest.Answer{Status: 403})
		require.Equal(t, storage.KindUnavailable, commit(t, backend, 0).Kind)
	})
	t.Run("throttled", func(t *testing.T) {
		a, _, backend := both(t)
		a.Next(storagetest.Answer{Status: 429, Header: map[string]string{"Retry-After": "50"}})
		e := commit(t, backend, 0)
		require.Equal(t, storage.KindThrottled, e.Kind)
		require.Equal(t, 50*time.Second, e.RetryAfter)
	})
}

func ranges(e *storage.Error) (out []int) {
	for _, r := range e.Refused {
		out = append(out, r.First, r.Last, r.Count)
	}
	return out
}

func TestADestinationThatIsNotRequired(t *testing.T) {
	reg := prometheus.NewRegistry()
	a, b, backend := both(t, func(o *Options) { o.Destinations[1].Required, o.Registerer = false, reg })
	b.Next(storagetest.Answer{Status: 404}, storagetest.Answer{})
	require.Nil(t, commit(t, backend, 0))
	require.Len(t, a.Stored(), 1)
	<-b.Arrived
	require.NoError(t, backend.Close(context.Background()), "which waits for it")
	require.Empty(t, b.Stored())
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP otlpgw_remotewrite_pending_bytes Memory held by samples that wait for the destination.
# TYPE otlpgw_remotewrite_pending_bytes gauge
otlpgw_remotewrite_pending_bytes{destination="a"} 0
otlpgw_remotewrite_pending_bytes{destination="b"} 0
# HELP otlpgw_remotewrite_samples_total Samples and native histograms that the destination accepted.
# TYPE otlpgw_remotewrite_samples_total counter
otlpgw_remotewrite_samples_total{destination="a"} 1
otlpgw_remotewrite_samples_total{destination="b"} 0
# HELP otlpgw_remotewrite_circuit_open 1 while the destination gets nothing but probes: it is away, or its answers speak of its own configuration.
# TYPE otlpgw_remotewrite_circuit_open gauge
otlpgw_remotewrite_circuit_open{destination="a"} 0
otlpgw_remotewrite_circuit_open{destination="b"} 1
`), "otlpgw_remotewrite_pending_bytes", "otlpgw_remotewrite_samples_total", "otlpgw_remotewrite_circuit_open"))
}

func TestASeriesThatARuleDropsIsAccepted(t *testing.T) {
	rule := &relabel.Config{SourceLabels: model.LabelNames{"job"}, Separator: ";", Regex: relabel.MustNewRegexp("0"), Action: relabel.Drop, NameValidationScheme: model.UTF8Validation}
	a, b, backend := both(t, func(o *Options) { o.Destinations[1].WriteRelabelConfigs = []*relabel.Config{rule} })
	require.Nil(t, commit(t, backend, 0))
	require.Len(t, a.Stored(), 1)
	require.Empty(t, b.Requests())
}

func TestMemoryIsBounded(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, func(o *Options) { o.MaxPendingBytes = 2 * reserveStep })
	one := begin(t, b)
	one.AppenderV2.(storage.TargetAppender).Target(0)
	for b.pending.Load() < b.o.MaxPendingBytes {
		one.append(0, 1)
	}
	two := begin(t, b)
	two.AppenderV2.(storage.TargetAppender).Target(1)
	_, err := two.Append(0, seriesOf(1), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, storage.KindUnavailable, e.Kind)
	require.Equal(t, busyAfter, e.RetryAfter)
	require.NoError(t, two.Rollback())
	require.NoError(t, one.Rollback())
	require.Zero(t, b.pending.Load())
	require.Nil(t, commit(t, b, 0))
}

// A request that is more than may ever be pending would be told to come back
// for ever: what fits is sent, and the rest is refused by the name of the limit.
func TestARequestThatIsTooLargeByItself(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, func(o *Options) { o.MaxPendingBytes = 2 * reserveStep })
	x := begin(t, b)
	x.AppenderV2.(storage.TargetAppender).Target(0)
	for i := range 1000 {
		x.append(0, int64(i))
	}
	var e *storage.Error
	require.ErrorAs(t, x.Commit(), &e)
	require.Equal(t, storage.KindRefused, e.Kind)
	fit := len(far.Stored())
	require.Greater(t, fit, 10)
	require.Len(t, e.Refused, 1)
	require.Equal(t, []int{fit, 999, 1000 - fit}, ranges(e))
	require.Contains(t, e.Refused[0].Reason, "direct.max_pending_bytes")
	require.Zero(t, b.pending.Load())
}

func TestCloseWaitsForWhatIsBeingSent(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	hold := make(chan struct{})
	far.Next(storagetest.Answer{Hold: hold})
	x := begin(t, b)
	x.add(0, 1)
	done := x.commit()
	<-far.Arrived
	closed := make(chan error, 1)
	go func() { closed <- b.Close(context.Background()) }()
	for b.Ready() == nil { // until Close has begun
		time.Sleep(time.Millisecond)
	}
	_, err := begin(t, b).Append(0, seriesOf(1), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	close(hold)
	require.NoError(t, <-done)
	require.NoError(t, <-closed)
}

func TestCloseGivesUp(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	far.Always(storagetest.Answer{Hold: make(chan struct{})})
	x := begin(t, b)
	x.add(0, 1)
	done := x.commit()
	<-far.Arrived
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, b.Close(ctx), "still being sent")
	var e *storage.Error
	require.ErrorAs(t, <-done, &e)
	require.Equal(t, storage.KindUnavailable, e.Kind)
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := New(Options{})
	require.Error(t, err)
	_, err = New(Options{Destinations: []remotewrite.DestinationOptions{{URL: "nonsense"}}, ExternalLabels: labels.EmptyLabels()})
	require.ErrorContains(t, err, "remote_write[0]")
}
