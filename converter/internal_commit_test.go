package converter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
)

// Converted is called once and before Commit on every path.
func TestConverted(t *testing.T) {
	good := encodeMetrics(t, everything)
	for name, c := range map[string]struct {
		request Request
		before  func(*line)
	}{
		"commit":        {request: Request{Body: good}},
		"failed commit": {request: Request{Body: good}, before: func(l *line) { l.rec.FailCommit(errors.New("no")) }},
		"failed append": {request: Request{Body: good}, before: func(l *line) { l.rec.FailAppend(1, errors.New("no")) }},
		"torn":          {request: Request{Body: good[:5]}},
		"no JSON":       {request: Request{Body: good, JSON: true}},
		"JSON":          {request: Request{Body: []byte(`{}`), JSON: true}},
		"empty":         {request: Request{}},
		"closed":        {request: Request{Body: good}, before: func(l *line) { _ = l.rec.Close(context.Background()) }},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, Options{})
			if c.before != nil {
				c.before(l)
			}
			called := 0
			c.request.Converted = func() {
				called++
				require.Zero(t, l.rec.Counts().Commit, "called after Commit")
			}
			_, _ = l.Push(t.Context(), c.request)
			require.Equal(t, 1, called)
		})
	}
}

// While a commit waits, the slot is free and other requests of the same target
// are converted and committed.
func TestCommitHoldsNothing(t *testing.T) {
	l := newLine(t, Options{})
	gate := l.rec.HoldCommits()
	converted := make(chan struct{})
	done := make(chan error)
	push := func(ms int) {
		_, err := l.Push(context.Background(), Request{
			Body:      encodeMetrics(t, fmt.Sprintf(`metrics { name: "g" gauge { data_points { time_unix_nano: @%d as_int: 1 } } }`, ms)),
			Converted: func() { converted <- struct{}{} },
		})
		done <- err
	}
	go push(1000)
	<-converted
	first := <-gate.Arrived
	go push(2000)
	<-converted
	second := <-gate.Arrived
	second.Release()
	require.NoError(t, <-done)
	first.Release()
	require.NoError(t, <-done)
	require.Equal(t, "g{instance=\"a1\", job=\"shop\"} 1 @1000\ng{instance=\"a1\", job=\"shop\"} 1 @2000\n", l.stored(t))
}

// A failed commit is the client's to retry; the retry is taken whole.
func TestRetryAfterFailedCommit(t *testing.T) {
	body := encodeMetrics(t, everything)
	clean := newLine(t, Options{})
	clean.send(t, body)
	want := clean.stored(t)

	l := newLine(t, Options{})
	for _, cause := range []error{errors.New("disk full"), storage.Unavailable(errors.New("away"), time.Second), &storage.Error{Kind: storage.KindThrottled}} {
		l.rec.FailCommit(cause)
		_, err := l.Push(t.Context(), Request{Body: body})
		var e *storage.Error
		require.ErrorAs(t, err, &e)
		require.NotEqual(t, storage.KindRefused, e.Kind)
		require.ErrorIs(t, err, cause)
		require.Empty(t, l.rec.Samples())
	}
	report := l.send(t, body)
	require.Equal(t, 2, report.Rejected, "the one without a time, the delta; %s", report.Message)
	require.Equal(t, want, l.stored(t))
	l.send(t, body)
	require.Equal(t, "g_bytes{instance=\"a1\", j=\"v\", job=\"shop\", k=\"1.5\"} 2 @1000\n", l.stored(t),
		"of a retry goes on only what is older than the newest: the backend decides")
}

// Refused ranges become exact counts of points, and only what lies outside
// them is acknowledged.
func TestRefusedRanges(t *testing.T) {
	body := encodeMetrics(t, `
		metrics { name: "a" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } }
		metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @1000 count: 3 sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] }
			data_points { time_unix_nano: @1000 count: 3 sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] attributes: "k" = "v" } } }
		metrics { name: "z" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } }`)
	// Appends: a is 0, the histograms are 1 to 5 and 6 to 10, z is 11.
	for name, c := range map[string]struct {
		refused  []storage.Refusal
		rejected int
		again    string // the metrics that a retry sends again, by first letters
	}{
		"a number":              {[]storage.Refusal{{First: 0, Last: 0, Count: 1}}, 1, "a"},
		"one bucket":            {[]storage.Refusal{{First: 3, Last: 3, Count: 1}}, 1, "hhhhh"},
		"a whole histogram":     {[]storage.Refusal{{First: 1, Last: 5, Count: 5}}, 1, "hhhhh"},
		"parts of both":         {[]storage.Refusal{{First: 5, Last: 6, Count: 2}}, 2, "hhhhhhhhhh"},
		"two ranges, one point": {[]storage.Refusal{{First: 1, Last: 1, Count: 1}, {First: 4, Last: 5, Count: 2}}, 1, "hhhhh"},
		"both ends":             {[]storage.Refusal{{First: 0, Last: 0, Count: 1}, {First: 11, Last: 11, Count: 1}}, 2, "az"},
		"everything":            {[]storage.Refusal{{First: 0, Last: 11, Count: 12}}, 4, "ahhhhhhhhhhz"},
		"one of all, unknown":   {[]storage.Refusal{{First: 0, Last: 11, Count: 1}}, 1, "ahhhhhhhhhhz"},
		"beyond the end":        {[]storage.Refusal{{First: 11, Last: 99, Count: 1}}, 1, "z"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, Options{})
			for i := range c.refused {
				c.refused[i].Reason = "the far end says no"
			}
			l.rec.FailCommit(&storage.Error{Kind: storage.KindRefused, Refused: c.refused})
			report := l.send(t, body)
			require.Equal(t, 4, report.Points)
			require.Equal(t, c.rejected, report.Rejected)
			require.Contains(t, report.Message, "the far end says no")
			l.rec.Reset()

			report = l.send(t, body)
			require.Zero(t, report.Rejected)
			var again strings.Builder
			for line := range strings.Lines(l.stored(t)) {
				again.WriteString(line[:1])
			}
			require.Equal(t, c.again, again.String())
		})
	}
}
