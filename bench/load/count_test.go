package main

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

// Info metrics are told from the load's, and histograms are samples too.
func TestCountV1(t *testing.T) {
	r := prompb.WriteRequest{
		Timeseries: []prompb.TimeSeries{
			{Labels: []prompb.Label{{Name: "__name__", Value: "a"}}, Samples: []prompb.Sample{{Value: 1}, {Timestamp: 2}}, Exemplars: []prompb.Exemplar{{}}},
			{Labels: []prompb.Label{{Name: "__name__", Value: "target_info"}, {Name: "job", Value: "x"}}, Samples: []prompb.Sample{{Value: 1}}},
			{Labels: []prompb.Label{{Name: "__name__", Value: "h"}}, Histograms: []prompb.Histogram{{Sum: 2}}},
		},
		Metadata: []prompb.MetricMetadata{{MetricFamilyName: "target_info"}},
	}
	message, err := r.Marshal()
	require.NoError(t, err)
	c, err := countV1(message)
	require.NoError(t, err)
	require.Equal(t, counted{samples: 3, info: 1, exemplars: 1, histograms: 1}, c)
	_, err = countV1(message[:len(message)-1])
	require.ErrorIs(t, err, errTorn)
}

func TestCountV2(t *testing.T) {
	r := writev2.Request{
		Symbols: []string{"", "__name__", "a", "target_info", "h"},
		Timeseries: []writev2.TimeSeries{
			{LabelsRefs: []uint32{1, 2}, Samples: []writev2.Sample{{Value: 1}, {Timestamp: 2}}, Exemplars: []writev2.Exemplar{{LabelsRefs: []uint32{1, 3}}}},
			{LabelsRefs: []uint32{1, 3}, Samples: []writev2.Sample{{Value: 1}}},
			{LabelsRefs: []uint32{1, 4}, Histograms: []writev2.Histogram{{Sum: 2}}},
		},
	}
	message, err := r.Marshal()
	require.NoError(t, err)
	c, err := countV2(message)
	require.NoError(t, err)
	require.Equal(t, counted{samples: 3, info: 1, exemplars: 1, histograms: 1}, c)
	_, err = countV2(message[:len(message)-1])
	require.ErrorIs(t, err, errTorn)

	r.Timeseries[0].LabelsRefs[1] = 5
	message, err = r.Marshal()
	require.NoError(t, err)
	_, err = countV2(message)
	require.ErrorContains(t, err, "reference 5 of 5 symbols")
}

// What the relay posts holds as many samples as a request of the load, on
// which the floor's figures rest.
func TestReadyMade(t *testing.T) {
	body, err := readyMade(1)
	require.NoError(t, err)
	s, err := newSink()
	require.NoError(t, err)
	defer s.close()
	c := &bed{client: http.DefaultClient}
	code, text, err := c.post(t.Context(), s.url, http.Header{"Content-Type": {"application/x-protobuf;proto=" + v2}}, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, code, string(text))
	raw, err := snappy.Decode(nil, body)
	require.NoError(t, err)
	require.Equal(t, total{samples: samplesPerRequest, requests: 1, wire: len(body), raw: len(raw)}, s.got())
}

// A target's times move, and nothing else of its request does.
func TestTarget(t *testing.T) {
	one, err := largeTarget(1, 1_800_000_000_000)
	require.NoError(t, err)
	require.Len(t, one.times, metrics*points)
	before := bytes.Clone(one.next())
	at := one.ms
	after := one.next()
	require.Greater(t, one.ms, at)
	require.NotEqual(t, before, after)
	for _, i := range one.times {
		copy(after[i:i+8], before[i:])
	}
	require.Equal(t, before, after)
	two, err := largeTarget(2, 1_800_000_000_000)
	require.NoError(t, err)
	require.NotEqual(t, before, two.next(), "two targets share no series")
}
