package storagetest

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

// watched takes the faults that a FarEnd reports at the end of its test.
type watched struct {
	testing.TB
	cleanup []func()
	faults  int
}

func (w *watched) Cleanup(f func())      { w.cleanup = append(w.cleanup, f) }
func (w *watched) Errorf(string, ...any) { w.faults++ }

func (w *watched) end() int {
	for _, f := range w.cleanup {
		f()
	}
	return w.faults
}

func postTo(t *testing.T, f *FarEnd, media, version string, m proto.Message) *http.Response {
	t.Helper()
	raw, err := proto.Marshal(m)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL(), bytes.NewReader(snappy.Encode(nil, raw)))
	require.NoError(t, err)
	req.Header.Set("Content-Type", media)
	req.Header.Set("X-Prometheus-Remote-Write-Version", version)
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("User-Agent", "test/1")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}

func TestFarEndSeesFaults(t *testing.T) {
	one := []writev2.Sample{{Value: 1, Timestamp: 2}}
	message := func(symbols []string, ts ...writev2.TimeSeries) *writev2.Request {
		return &writev2.Request{Symbols: symbols, Timeseries: ts}
	}
	good := []string{"", "__name__", "m", "a", "b"}
	for name, tc := range map[string]struct {
		m    *writev2.Request
		want bool
	}{
		"none":                    {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 2, 3, 4}, Samples: one}), false},
		"no empty symbol":         {message(good[1:], writev2.TimeSeries{LabelsRefs: []uint32{0, 1}, Samples: one}), true},
		"a symbol twice":          {message(append(good, "a"), writev2.TimeSeries{LabelsRefs: []uint32{1, 2}, Samples: one}), true},
		"labels not sorted":       {message(good, writev2.TimeSeries{LabelsRefs: []uint32{3, 4, 1, 2}, Samples: one}), true},
		"an odd number of refs":   {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 2, 3}, Samples: one}), true},
		"an empty value":          {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 0}, Samples: one}), true},
		"a ref out of range":      {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 9}, Samples: one}), true},
		"neither kind":            {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 2}, Exemplars: []writev2.Exemplar{{Value: 1, Timestamp: 1}}}), true},
		"both kinds":              {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 2}, Samples: one, Histograms: []writev2.Histogram{{Timestamp: 2}}}), true},
		"an exemplar has no time": {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 2}, Samples: one, Exemplars: []writev2.Exemplar{{Value: 1}}}), true},
		"not in time order":       {message(good, writev2.TimeSeries{LabelsRefs: []uint32{1, 2}, Samples: []writev2.Sample{{Timestamp: 2}, {Timestamp: 1}}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &watched{TB: t}
			f := NewFarEnd(w)
			postTo(t, f, mediaV2, "2.0.0", tc.m)
			require.Equal(t, tc.want, w.end() > 0)
		})
	}
}

func TestFarEndSeesWrongHeaders(t *testing.T) {
	w := &watched{TB: t}
	f := NewFarEnd(w)
	postTo(t, f, "application/x-protobuf; proto=io.prometheus.write.v2.Request", "2.0.0", &writev2.Request{})
	require.NotZero(t, w.end())
}

func TestFarEndSeesASeriesTwiceAtOnce(t *testing.T) {
	w := &watched{TB: t}
	f := NewFarEnd(w)
	hold := make(chan struct{})
	f.Next(Answer{Hold: hold})
	m := &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{
		Labels: []prompb.Label{{Name: "__name__", Value: "m"}}, Samples: []prompb.Sample{{Value: 1, Timestamp: 2}},
	}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		postTo(t, f, mediaV1, "0.1.0", m)
	}()
	<-f.Arrived
	postTo(t, f, mediaV1, "0.1.0", m)
	close(hold)
	<-done
	require.Equal(t, 1, w.end())
}

func TestFarEndAnswersAsTold(t *testing.T) {
	f := NewFarEnd(t)
	m := &writev2.Request{Symbols: []string{"", "__name__", "m"}, Timeseries: []writev2.TimeSeries{{
		LabelsRefs: []uint32{1, 2}, Samples: []writev2.Sample{{Value: 1, Timestamp: 1}, {Value: 2, Timestamp: 2}},
	}}}
	f.Next(Answer{Status: 400, Refuse: func(s Sample) bool { return s.V == 1 }}, Answer{Status: 503}, Answer{NoWritten: true})
	const header = "X-Prometheus-Remote-Write-Samples-Written"
	for _, want := range []struct {
		status  int
		written string
		stored  int
	}{{400, "1", 1}, {503, "0", 1}, {204, "", 1}, {204, "2", 3}} {
		resp := postTo(t, f, mediaV2, "2.0.0", m)
		require.Equal(t, want.status, resp.StatusCode)
		require.Equal(t, want.written, resp.Header.Get(header))
		require.Len(t, f.Stored(), want.stored)
	}
	f.ToV2(&Answer{Status: 415})
	f.Always(Answer{Status: 500})
	require.Equal(t, 415, postTo(t, f, mediaV2, "2.0.0", m).StatusCode)
	require.Equal(t, 500, postTo(t, f, mediaV1, "0.1.0", &prompb.WriteRequest{}).StatusCode)
	require.Len(t, f.Requests(), 6)
}
