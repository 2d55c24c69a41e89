package direct

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// receiver is Prometheus's own, over a TSDB.
type receiver struct {
	db      *tsdb.DB
	handler http.Handler
	url     string
}

func newReceiver(t *testing.T, accepts ...remoteapi.WriteMessageType) *receiver {
	t.Helper()
	return newLateReceiver(t, 0, accepts...)
}

// newLateReceiver is newReceiver with an out-of-order window.
func newLateReceiver(t *testing.T, window time.Duration, accepts ...remoteapi.WriteMessageType) *receiver {
	t.Helper()
	o := tsdb.DefaultOptions()
	o.EnableExemplarStorage, o.MaxExemplars = true, 1000
	o.OutOfOrderTimeWindow = window.Milliseconds()
	db, err := tsdb.Open(t.TempDir(), promslog.NewNopLogger(), prometheus.NewRegistry(), o, nil)
	require.NoError(t, err)
	handler := remote.NewWriteHandler(promslog.NewNopLogger(), prometheus.NewRegistry(), db, accepts, false, true)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, db.Close())
	})
	return &receiver{db: db, handler: handler, url: server.URL}
}

// read returns one line per sample of the series with that name.
func (r *receiver) read(t *testing.T, name string) (lines []string) {
	t.Helper()
	q, err := r.db.Querier(math.MinInt64, math.MaxInt64)
	require.NoError(t, err)
	defer q.Close()
	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", name))
	for set.Next() {
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			switch kind {
			case chunkenc.ValFloat:
				_, v := it.At()
				text := fmt.Sprint(v)
				if value.IsStaleNaN(v) {
					text = "stale"
				}
				lines = append(lines, set.At().Labels().String()+" "+text)
			default:
				_, h := it.AtFloatHistogram(nil)
				h.CounterResetHint = 0
				lines = append(lines, set.At().Labels().String()+" "+h.TestExpression())
			}
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())
	return lines
}

func (r *receiver) exemplars(t *testing.T, name string) (lines []string) {
	t.Helper()
	q, err := r.db.ExemplarQuerier(context.Background())
	require.NoError(t, err)
	results, err := q.Select(math.MinInt64, math.MaxInt64, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", name)})
	require.NoError(t, err)
	for _, result := range results {
		for _, e := range result.Exemplars {
			lines = append(lines, fmt.Sprint(e.Labels, e.Value))
		}
	}
	return lines
}

func customBuckets() *histogram.Histogram {
	return &histogram.Histogram{
		Schema: histogram.CustomBucketsSchema, Count: 7, Sum: 3, CustomValues: []float64{1, 2},
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 3}}, PositiveBuckets: []int64{2, 1, -1},
	}
}

func native() *histogram.Histogram {
	return &histogram.Histogram{
		Schema: 3, Count: 9, Sum: 4.5, ZeroThreshold: 0.25, ZeroCount: 2,
		PositiveSpans: []histogram.Span{{Offset: -3, Length: 2}}, PositiveBuckets: []int64{3, 1},
	}
}

func TestPrometheusReceives(t *testing.T) {
	v1, v2 := remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType
	for name, tc := range map[string]struct {
		accepts []remoteapi.WriteMessageType
		message remotewrite.Message
		nhcb    []string
	}{
		"2.0":                      {[]remoteapi.WriteMessageType{v1, v2}, remotewrite.MessageAuto, []string{`{__name__="nhcb", job="j"} {{schema:-53 count:7 sum:3 custom_values:[1 2] buckets:[2 3 2]}}`}},
		"1.0":                      {[]remoteapi.WriteMessageType{v1, v2}, remotewrite.MessageV1, nil},
		"1.0 after falling back":   {[]remoteapi.WriteMessageType{v1}, remotewrite.MessageAuto, nil},
		"2.0 by name":              {[]remoteapi.WriteMessageType{v2}, remotewrite.MessageV2, []string{`{__name__="nhcb", job="j"} {{schema:-53 count:7 sum:3 custom_values:[1 2] buckets:[2 3 2]}}`}},
		"2.0 by default, only 2.0": {[]remoteapi.WriteMessageType{v2}, remotewrite.MessageAuto, []string{`{__name__="nhcb", job="j"} {{schema:-53 count:7 sum:3 custom_values:[1 2] buckets:[2 3 2]}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			far := newReceiver(t, tc.accepts...)
			o := remotewrite.DefaultDestinationOptions(far.url)
			o.ProtobufMessage = tc.message
			b := open(t, Options{Destinations: []remotewrite.DestinationOptions{o}, ExternalLabels: labels.FromStrings("job", "j")})
			now := time.Now().UnixMilli()
			app := b.AppenderV2(t.Context())
			add := func(name string, at int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, exemplars ...exemplar.Exemplar) {
				_, err := app.Append(0, labels.FromStrings("__name__", name), now-60_000, at, v, h, fh, promstorage.AppendV2Options{
					Metadata:  metadata.Metadata{Type: model.MetricTypeCounter, Help: "Help.", Unit: "s"},
					Exemplars: exemplars,
				})
				require.NoError(t, err)
			}
			// Newest first: they are delivered in time order.
			add("float_total", now, 3, nil, nil)
			add("float_total", now-1000, 2, nil, nil, exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "t1"), Value: 0.5, Ts: now - 1500, HasTs: true})
			add("float_total", now-2000, 1, nil, nil)
			add("gone", now, math.Float64frombits(value.StaleNaN), nil, nil)
			add("native", now, 0, native(), nil, exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "t2"), Value: 0.75, Ts: now, HasTs: true})
			add("native_float", now, 0, nil, native().ToFloat(nil))
			add("nhcb", now, 0, customBuckets(), nil)
			require.NoError(t, app.Commit())

			require.Equal(t, []string{`{__name__="float_total", job="j"} 1`, `{__name__="float_total", job="j"} 2`, `{__name__="float_total", job="j"} 3`}, far.read(t, "float_total"))
			require.Equal(t, []string{`{__name__="gone", job="j"} stale`}, far.read(t, "gone"))
			for _, name := range []string{"native", "native_float"} {
				require.Equal(t, []string{`{__name__="` + name + `", job="j"} ` + native().ToFloat(nil).TestExpression()}, far.read(t, name))
			}
			require.Equal(t, tc.nhcb, far.read(t, "nhcb"))
			require.Equal(t, []string{`{trace_id="t1"} 0.5`}, far.exemplars(t, "float_total"))
			require.Equal(t, []string{`{trace_id="t2"} 0.75`}, far.exemplars(t, "native"))
		})
	}
}

// A receiver without an out-of-order window refuses what is older than it has,
// and with one it takes that, in both versions.
func TestPrometheusLate(t *testing.T) {
	for _, message := range []remotewrite.Message{remotewrite.MessageV1, remotewrite.MessageV2} {
		for _, window := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprintf("message %d window %s", message, window), func(t *testing.T) {
				far := newLateReceiver(t, window, remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType)
				o := remotewrite.DefaultDestinationOptions(far.url)
				o.ProtobufMessage = message
				b := open(t, Options{Destinations: []remotewrite.DestinationOptions{o}})
				now := time.Now().UnixMilli()
				send := func(at ...int64) error {
					app := b.AppenderV2(t.Context())
					app.(storage.TargetAppender).Target(1)
					for i, at := range at {
						_, err := app.Append(0, labels.FromStrings("__name__", "m", "i", fmt.Sprint(i)), 0, at, 1, nil, nil, promstorage.AppendV2Options{})
						require.NoError(t, err)
					}
					return app.Commit()
				}
				require.NoError(t, send(now, now, now))
				err := send(now+1, now-5000, now+1)
				if window > 0 {
					require.NoError(t, err)
					require.Len(t, far.read(t, "m"), 6)
					return
				}
				var e *storage.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, storage.KindRefused, e.Kind)
				require.Len(t, e.Refused, 1)
				// 2.0 says how many were refused, halving a message of 1.0 finds which.
				want := [3]int{0, 2, 1}
				if message == remotewrite.MessageV1 {
					want = [3]int{1, 1, 1}
				}
				require.Equal(t, want, [3]int{e.Refused[0].First, e.Refused[0].Last, e.Refused[0].Count})
				require.Contains(t, e.Refused[0].Reason, "out of order")
				require.Len(t, far.read(t, "m"), 5)
			})
		}
	}
}
