package remotewrite

import (
	"net/http"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

func withZeros(o *DestinationOptions) { o.ProtobufMessage, o.ZeroSamples = MessageV1, true }

// A series gets one zero per start time, when that is news and lies behind what
// was sent.
func TestZeroSamples(t *testing.T) {
	b := newBench(t, withZeros)
	now := b.clock.Now().UnixMilli()
	old, young, native := b.series(numbered(1)), b.series(numbered(2)), b.series(numbered(3))
	sent := func(samples ...Sample) (times []int64) {
		before := len(b.far.Stored())
		require.Equal(t, Outcome{}, b.send(samples...))
		for _, s := range b.far.Stored()[before:] {
			require.True(t, s.T != samples[0].ST || s.T == samples[0].T || s.V == 0 && (s.H == nil || s.H.Count == 0))
			times = append(times, s.T-now)
		}
		return times
	}
	require.Equal(t, []int64{20}, sent(Sample{Series: old, ST: now - 5, T: now + 20, V: 7}), "it began before this process")
	require.Equal(t, []int64{10, 20, 30}, sent(Sample{Series: young, ST: now + 10, T: now + 20, V: 7}, Sample{Series: young, ST: now + 10, T: now + 30, V: 8}))
	require.Equal(t, []int64{40}, sent(Sample{Series: young, ST: now + 10, T: now + 40, V: 8}), "once")
	require.Equal(t, []int64{50, 60}, sent(Sample{Series: young, ST: now + 50, T: now + 60, V: 1}), "it was reset")
	require.Equal(t, []int64{90}, sent(Sample{Series: young, ST: now + 55, T: now + 90, V: 1}), "a start before what was sent")
	require.Equal(t, []int64{70, 80}, sent(Sample{Series: old, ST: now + 70, T: now + 80, V: 1}))
	require.Equal(t, []int64{10, 20}, sent(Sample{Series: native, ST: now + 10, T: now + 20, H: &histogram.Histogram{Count: 3, ZeroCount: 3}}))
	require.Equal(t, []int64{30}, sent(Sample{Series: native, ST: now + 30, T: now + 30, H: &histogram.Histogram{Count: 3, ZeroCount: 3}}), "start and time alike: it is not known")
}

// A zero that was not acknowledged is sent again; one that is refused costs the
// sample nothing.
func TestZeroSamplesThatFail(t *testing.T) {
	b := newBench(t, withZeros)
	now := b.clock.Now().UnixMilli()
	s := Sample{Series: b.series(numbered(1)), ST: now + 10, T: now + 20, V: 7}
	b.far.Next(storagetest.Answer{Status: http.StatusUnauthorized})
	require.NotNil(t, b.send(s).Err)
	b.clock.now = b.clock.now.Add(maxOpen)
	b.far.Script(func(req *storagetest.FarEndRequest) storagetest.Answer {
		if len(req.Samples) > 1 {
			return storagetest.Answer{Status: http.StatusBadRequest, Body: "out of order"}
		}
		return storagetest.Answer{}
	})
	require.Equal(t, Outcome{}, b.send(s))
	require.Len(t, b.far.Requests(), 3)
	require.Len(t, b.far.Stored(), 1)
}

// 2.0 has start timestamps.
func TestZeroSamplesAreFor10(t *testing.T) {
	b := newBench(t, withZeros, func(o *DestinationOptions) { o.ProtobufMessage = MessageV2 })
	now := b.clock.Now().UnixMilli()
	require.Equal(t, Outcome{}, b.send(Sample{Series: b.series(numbered(1)), ST: now + 10, T: now + 20, V: 7}))
	require.Len(t, b.far.Stored(), 1)
}
