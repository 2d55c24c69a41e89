package remotewrite

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// fakeClock jumps when somebody sleeps.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func (c *fakeClock) total() (sum time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// bench is one destination under test.
type bench struct {
	far    *storagetest.FarEnd
	clock  *fakeClock
	group  *Group
	reg    *prometheus.Registry
	log    *bytes.Buffer
	sender *Sender
	tenant string
}

func newBench(t *testing.T, change ...func(*DestinationOptions)) *bench {
	t.Helper()
	b := &bench{far: storagetest.NewFarEnd(t), clock: &fakeClock{now: time.Unix(1_700_000_000, 0)}, reg: prometheus.NewPedanticRegistry(), log: &bytes.Buffer{}}
	o := DefaultDestinationOptions(b.far.URL())
	o.Name = "far"
	for _, c := range change {
		c(&o)
	}
	var err error
	b.group, err = New(Options{
		Destinations: []DestinationOptions{o}, Version: "1.2.3", Registerer: b.reg, Clock: b.clock,
		Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(b.group.Close)
	b.sender = b.group.Destinations()[0].NewSender()
	return b
}

func (b *bench) send(samples ...Sample) Outcome {
	return b.sendAll(samples)[0]
}

// sendAll sends a batch of several transactions.
func (b *bench) sendAll(units ...[]Sample) []Outcome {
	batch := make([]Unit, len(units))
	for i := range units {
		batch[i].Parts = [][]Sample{units[i]}
	}
	out := make([]Outcome, len(units))
	settled := make([]bool, len(units))
	b.sender.Send(context.Background(), Batch{Tenant: b.tenant, Deadline: b.clock.Now().Add(5 * time.Second), Units: batch}, func(i int, o Outcome) {
		if settled[i] {
			panic("settled twice")
		}
		out[i], settled[i] = o, true
	})
	if slices.Contains(settled, false) {
		panic("not settled")
	}
	return out
}

func (b *bench) series(ls labels.Labels) *Series { return b.group.Table().Series(0, ls, 0) }

// floats returns n samples of as many series.
func (b *bench) floats(n int) []Sample {
	out := make([]Sample, n)
	for i := range out {
		out[i] = Sample{Series: b.series(numbered(i)), N: i, T: 1000 + int64(i), V: float64(i)}
	}
	return out
}

func (b *bench) metric(t *testing.T, name, labels, want string) {
	t.Helper()
	text := "otlpgw_remotewrite_" + name + `{destination="far"` + labels + "} " + want
	got, err := testutil.CollectAndFormat(b.reg, expfmt.TypeTextPlain, "otlpgw_remotewrite_"+name)
	require.NoError(t, err)
	require.Contains(t, string(got)+"\n", text+"\n")
}

func (b *bench) statuses() (v2 []bool) {
	for _, r := range b.far.Requests() {
		v2 = append(v2, r.V2)
	}
	return v2
}

func TestHeaders(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) { o.Headers = map[string]string{"X-Scope-OrgID": "team-a"} })
	b.far.Next(storagetest.Answer{Status: 503}, storagetest.Answer{Status: 503})
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	b.group.Destinations()[0].protocol.fellBack(b.clock.Now())
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))

	requests := b.far.Requests()
	require.Len(t, requests, 4)
	for i, want := range []struct{ media, version, attempt string }{
		{"application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0", ""},
		{"application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0", "1"},
		{"application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0", "2"},
		{"application/x-protobuf", "0.1.0", ""},
	} {
		h := requests[i].Header
		require.Equal(t, []string{want.media}, h["Content-Type"])
		require.Equal(t, []string{want.version}, h["X-Prometheus-Remote-Write-Version"])
		require.Equal(t, []string{"snappy"}, h["Content-Encoding"])
		require.Equal(t, []string{"otlpgw/1.2.3"}, h["User-Agent"])
		require.Equal(t, want.attempt, h.Get("Retry-Attempt"))
		require.Equal(t, "team-a", h.Get("X-Scope-OrgID"))
	}
}

func TestHeadersOfTheProtocolCannotBeSet(t *testing.T) {
	for _, name := range []string{"content-type", "Content-Encoding", "USER-AGENT", "x-prometheus-remote-write-version", "Retry-Attempt", "Authorization"} {
		o := DefaultDestinationOptions("http://localhost/write")
		o.Headers = map[string]string{name: "x"}
		_, err := New(Options{Destinations: []DestinationOptions{o}})
		require.ErrorContains(t, err, http.CanonicalHeaderKey(name))
	}
}

// Receivers of 1.0 only: 415, a 2xx without the Written headers, and 400.
func TestFallback(t *testing.T) {
	for name, answer := range map[string]storagetest.Answer{
		"2xx without a Written header": {Status: 204, NoWritten: true},
		"415":                          {Status: 415, NoWritten: true},
		"400 to the first message":     {Status: 400, NoWritten: true, Body: "cannot decode"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.far.ToV2(&answer)
			require.Equal(t, Outcome{}, b.send(b.floats(3)...))
			require.Equal(t, Outcome{}, b.send(b.floats(3)...))
			require.Equal(t, []bool{true, false, false}, b.statuses(), "it is remembered")
			require.Len(t, b.far.Stored(), 6)
			require.Zero(t, b.clock.total(), "there was nothing to wait for")
			b.metric(t, "fallback", "", "1")
			require.Equal(t, 1, strings.Count(b.log.String(), "does not know Remote-Write 2.0"))

			b.clock.now = b.clock.now.Add(reprobeAfter)
			require.Equal(t, Outcome{}, b.send(b.floats(3)...))
			require.Equal(t, []bool{true, false}, b.statuses()[3:], "it is asked again, and still does not")
			b.clock.now = b.clock.now.Add(reprobeAfter)
			b.far.ToV2(nil)
			require.Equal(t, Outcome{}, b.send(b.floats(3)...))
			require.Equal(t, Outcome{}, b.send(b.floats(3)...))
			require.Equal(t, []bool{true, true}, b.statuses()[5:], "it was upgraded")
			b.metric(t, "fallback", "", "0")
			require.Len(t, b.far.Stored(), 15)
		})
	}
}

func TestA400IsAboutTheDataWhen10FailsToo(t *testing.T) {
	for name, second := range map[string]storagetest.Answer{
		"refused as well":     {Status: 400, Body: "out of order"},
		"it knows 2.0 alone":  {Status: 415},
		"refused as conflict": {Status: 409},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.far.Next(storagetest.Answer{Status: 400, NoWritten: true, Body: "out of order"}, second)
			out := b.send(b.floats(1)...)
			require.Nil(t, out.Err)
			require.Equal(t, []storage.Refusal{{First: 0, Last: 0, Count: 1, Reason: "far: 400 Bad Request: out of order"}}, out.Refused)
			require.Equal(t, []bool{true, false}, b.statuses())
			require.Equal(t, Outcome{}, b.send(b.floats(3)...))
			require.Equal(t, []bool{true}, b.statuses()[2:], "2.0 stands")
			b.metric(t, "circuit_open", "", "0")
		})
	}
}

func TestA400AfterAcceptanceIsAboutTheData(t *testing.T) {
	b := newBench(t)
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	b.far.Next(storagetest.Answer{Status: 400, NoWritten: true})
	require.Equal(t, 1, b.send(b.floats(1)...).Refused[0].Count)
	require.Equal(t, []bool{true, true}, b.statuses())
}

func TestPinnedMessages(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) { o.ProtobufMessage = MessageV2 })
	b.far.Next(storagetest.Answer{Status: 400, NoWritten: true})
	require.Len(t, b.send(b.floats(1)...).Refused, 1, "no trial: the user says that it knows 2.0")
	require.Equal(t, []bool{true}, b.statuses())

	b = newBench(t, func(o *DestinationOptions) { o.ProtobufMessage = MessageV1 })
	b.far.Next(storagetest.Answer{Status: 415})
	out := b.send(b.floats(1)...)
	require.Equal(t, storage.KindUnavailable, out.Err.Kind)
	require.Equal(t, []bool{false}, b.statuses())
	b.metric(t, "circuit_open", "", "1")
}

// A 5xx is retried with the same bytes.
func TestRetriesSendTheSameBytes(t *testing.T) {
	b := newBench(t)
	b.far.Next(storagetest.Answer{Status: 500}, storagetest.Answer{HangUp: true}, storagetest.Answer{Status: 529}, storagetest.Answer{Status: 429}, storagetest.Answer{Status: 503, Refuse: func(s storagetest.Sample) bool { return s.V > 0 }})
	require.Equal(t, Outcome{}, b.send(b.floats(5)...))
	requests := b.far.Requests()
	require.Len(t, requests, 6)
	for _, r := range requests {
		require.Equal(t, requests[0].Body, r.Body)
	}
	require.Len(t, b.clock.slept, 5)
	for i, d := range b.clock.slept {
		require.GreaterOrEqual(t, d, DefaultMinBackoff<<i/2)
		require.LessOrEqual(t, d, DefaultMinBackoff<<i)
	}
	b.metric(t, "requests_total", "", "6")
	b.metric(t, "samples_total", "", "5")
	b.metric(t, "failed_requests_total", `,reason="network"`, "1")
	b.metric(t, "failed_requests_total", `,reason="throttled"`, "1")
	b.metric(t, "failed_requests_total", `,reason="unavailable"`, "3")
}

func TestRetriesEndWithTheDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		answer storagetest.Answer
		want   storage.Kind
	}{
		"away":      {storagetest.Answer{Status: 503, Body: "no leader"}, storage.KindUnavailable},
		"throttled": {storagetest.Answer{Status: 429}, storage.KindThrottled},
		"gone":      {storagetest.Answer{HangUp: true}, storage.KindUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.far.Always(tc.answer)
			out := b.send(b.floats(1)...)
			require.Equal(t, tc.want, out.Err.Kind)
			require.ErrorContains(t, out.Err, "far: ")
			require.Empty(t, out.Refused)
			require.Greater(t, len(b.far.Requests()), 3)
			require.Less(t, b.clock.total(), 5*time.Second)
			require.Equal(t, 1, strings.Count(b.log.String(), "attempt failed"), "one line, not one per attempt")
		})
	}
}

// A partial write: what was not written is refused, and not retried.
func TestPartialWrite(t *testing.T) {
	b := newBench(t)
	b.far.Next(storagetest.Answer{Status: 400, Body: "out of order: m", Refuse: func(s storagetest.Sample) bool { return s.V == 2 }})
	out := b.send(b.floats(4)...)
	require.Nil(t, out.Err)
	require.Equal(t, []storage.Refusal{{First: 0, Last: 3, Count: 1, Reason: "far: 400 Bad Request: out of order: m"}}, out.Refused)
	require.Len(t, b.far.Requests(), 1, "no retry")
	b.metric(t, "samples_total", "", "3")
	b.metric(t, "refused_samples_total", "", "1")
	require.Contains(t, b.log.String(), "out of order: m")
}

func TestA2xxMustAccountForEverything(t *testing.T) {
	b := newBench(t)
	b.far.Next(storagetest.Answer{Refuse: func(s storagetest.Sample) bool { return s.V < 2 }})
	out := b.send(b.floats(4)...)
	require.Nil(t, out.Err)
	require.Len(t, out.Refused, 1)
	require.Equal(t, 2, out.Refused[0].Count)
	require.Contains(t, out.Refused[0].Reason, "wrote less than it was sent")
}

func TestRefusedIn10(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) { o.ProtobufMessage = MessageV1; o.MaxSamplesPerSend = 2 })
	bad := storagetest.Answer{Status: 422, Body: "bad"}
	b.far.Next(storagetest.Answer{}, bad, bad, bad)
	out := b.send(b.floats(5)...)
	require.Nil(t, out.Err)
	require.Equal(t, []storage.Refusal{{First: 2, Last: 2, Count: 1, Reason: "far: 422 Unprocessable Entity: bad"}, {First: 3, Last: 3, Count: 1, Reason: "far: 422 Unprocessable Entity: bad"}}, out.Refused)
	require.Len(t, b.far.Requests(), 5, "what follows is sent")
	require.Len(t, b.far.Stored(), 3)
}

// Retry-After is honoured.
func TestRetryAfterIsHonoured(t *testing.T) {
	b := newBench(t)
	b.far.Next(storagetest.Answer{Status: 503, Header: map[string]string{"Retry-After": "2"}})
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	require.Equal(t, 2*time.Second, b.clock.total())

	// By date, and for every sender of the destination.
	b.far.Next(storagetest.Answer{Status: 429, Header: map[string]string{"Retry-After": b.clock.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)}})
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	require.Equal(t, 5*time.Second, b.clock.total())

	// A pause beyond the deadline is the client's to keep.
	b.far.Next(storagetest.Answer{Status: 429, Header: map[string]string{"Retry-After": "20"}})
	out := b.send(b.floats(1)...)
	require.Equal(t, storage.KindThrottled, out.Err.Kind)
	require.Equal(t, 20*time.Second, out.Err.RetryAfter)
	require.Equal(t, 5*time.Second, b.clock.total())
	n := len(b.far.Requests())
	b.sender = b.group.Destinations()[0].NewSender()
	out = b.send(b.floats(1)...)
	require.Equal(t, storage.KindThrottled, out.Err.Kind, "another sender does not even ask")
	require.Len(t, b.far.Requests(), n)
}

func TestCircuitOpensOnTheDestinationsFault(t *testing.T) {
	for _, status := range []int{401, 403, 404, 405, 418} {
		b := newBench(t)
		b.far.Next(storagetest.Answer{Status: status, NoWritten: true, Body: "who are you"})
		out := b.send(b.floats(2)...)
		require.Equal(t, storage.KindUnavailable, out.Err.Kind)
		require.Empty(t, out.Refused, "a rotated password is no client's data loss")
		require.Equal(t, storage.KindUnavailable, b.send(b.floats(2)...).Err.Kind)
		require.Len(t, b.far.Requests(), 1, "it is left alone")
		b.metric(t, "circuit_open", "", "1")
		require.Contains(t, b.log.String(), "who are you")

		b.clock.now = b.clock.now.Add(minOpen)
		require.Equal(t, Outcome{}, b.send(b.floats(2)...), "until it is asked again")
		b.metric(t, "circuit_open", "", "0")
	}
}

func TestTooLargeIsHalved(t *testing.T) {
	b := newBench(t)
	b.far.Next(storagetest.Answer{Status: 413}, storagetest.Answer{}, storagetest.Answer{Status: 413}, storagetest.Answer{Status: 413, Body: "one series is too large"})
	out := b.send(b.floats(4)...)
	require.Nil(t, out.Err)
	require.Equal(t, []storage.Refusal{{First: 2, Last: 2, Count: 1, Reason: "far: 413 Request Entity Too Large: one series is too large"}}, out.Refused)
	var sizes []int
	for _, r := range b.far.Requests() {
		sizes = append(sizes, len(r.Samples))
	}
	require.Equal(t, []int{4, 2, 2, 1, 1}, sizes)
	require.Len(t, b.far.Stored(), 3)
}

func TestSettingsOfTheDestination(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) {
		o.SendExemplars, o.SendNativeHistograms = false, false
		o.WriteRelabelConfigs = rules(t, `[{source_labels: [i], regex: "1", action: drop}]`)
	})
	samples := b.floats(3)
	samples[0].Exemplars = []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "t"), Ts: 1, HasTs: true}}
	samples[2].H = &histogram.Histogram{}
	require.Equal(t, Outcome{}, b.send(samples...))
	require.Equal(t, `m{i="0"} 0 @1000`+"\n", storagetest.Text(b.far.Stored()))
	b.metric(t, "dropped_samples_total", `,reason="native_histogram"`, "1")

	require.Equal(t, Outcome{}, b.send(samples[1]), "all dropped: nothing to ask for")
	require.Len(t, b.far.Requests(), 1)
}

func TestMetricsLint(t *testing.T) {
	b := newBench(t)
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	problems, err := testutil.GatherAndLint(b.reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	b.group.Destinations()[0].AddPending(7)
	b.metric(t, "pending_bytes", "", "7")
	b.metric(t, "oldest_pending_seconds", "", "0")
	b.group.Destinations()[0].OnOldest(func() time.Time { return b.clock.Now().Add(-3 * time.Second) })
	b.metric(t, "oldest_pending_seconds", "", "3")
}

// Large histograms end a request before its number of samples does.
func TestARequestEndsByBytes(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) { o.MaxBytesPerSend = 1000 })
	samples := b.floats(6)
	for i := range samples {
		samples[i].H = &histogram.Histogram{Count: 100, PositiveSpans: []histogram.Span{{Length: 100}}, PositiveBuckets: make([]int64, 100)}
		samples[i].H.PositiveBuckets[0] = 1
	}
	require.Equal(t, Outcome{}, b.send(samples...))
	require.Len(t, b.far.Stored(), 6)
	require.Len(t, b.far.Requests(), 3)
}
