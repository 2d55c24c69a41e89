package converter

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter/series"
)

// A series that two requests in flight hold without room in the cache is
// forgotten once.
func TestLooseSeriesAreForgottenOnce(t *testing.T) {
	l := newLine(t, Options{Cache: series.Options{MaxSeries: 1}})
	gate := l.rec.HoldCommits()
	done := make(chan error, 2)
	push := func(body []byte) {
		_, err := l.Push(context.Background(), Request{Body: body})
		done <- err
	}
	a := encodeMetrics(t, `metrics { name: "a" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } } metrics { name: "b" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } }`)
	b := encodeMetrics(t, `metrics { name: "a" gauge { data_points { time_unix_nano: @2000 as_int: 1 } } } metrics { name: "b" gauge { data_points { time_unix_nano: @2000 as_int: 1 } } }`)
	go push(a)
	first := <-gate.Arrived
	go push(b)
	second := <-gate.Arrived
	first.Release()
	require.NoError(t, <-done)
	second.Release()
	require.NoError(t, <-done)
	l.rec.AssertClean(t)
}
