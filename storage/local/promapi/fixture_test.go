package promapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otlpgw/otlpgw/storage/local"
	"github.com/otlpgw/otlpgw/storage/local/promapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// now is the time of the newest sample and of every request: 2001-09-09.
var now = time.Unix(1_000_000_000, 0).UTC()

// fixture is a server over a store with a counter, a gauge with a UTF-8 name, a
// native histogram and classic buckets with an exemplar.
type fixture struct {
	t     *testing.T
	url   string
	store *local.Backend
}

func serve(t *testing.T, o promapi.Options) *fixture {
	t.Helper()
	store, err := local.Open(local.Options{Dir: t.TempDir(), Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, store.Close(ctx))
	})
	fill(t, store)

	if o.Store == nil {
		o.Store = store
	}
	o.Logger, o.Now = quiet, func() time.Time { return now }
	api, err := promapi.New(o)
	require.NoError(t, err)
	srv := httptest.NewServer(api)
	t.Cleanup(srv.Close)
	return &fixture{t, srv.URL, store}
}

func fill(t *testing.T, store *local.Backend) {
	app := store.AppenderV2(t.Context())
	add := func(ls labels.Labels, ago time.Duration, v float64, h *histogram.Histogram, o promstorage.AppendV2Options) {
		_, err := app.Append(0, ls, now.Add(-time.Hour).UnixMilli(), now.Add(-ago).UnixMilli(), v, h, nil, o)
		require.NoError(t, err)
	}
	for i := range int64(5) {
		ago := time.Duration(4-i) * time.Minute
		add(labels.FromStrings("__name__", "requests_total", "job", "shop", "code", "200"), ago, float64(60*i), nil, promstorage.AppendV2Options{
			MetricFamilyName: "requests",
			Metadata:         metadata.Metadata{Type: model.MetricTypeCounter, Help: "Requests.", Unit: ""},
		})
		add(labels.FromStrings("__name__", "requests_total", "job", "shop", "code", "500"), ago, float64(i), nil, promstorage.AppendV2Options{})
		add(labels.FromStrings("__name__", "latency_seconds", "job", "shop"), ago, 0, &histogram.Histogram{
			Schema: 0, Count: uint64(3 * (i + 1)), Sum: float64(4 * (i + 1)),
			ZeroThreshold: 0.5, ZeroCount: uint64(i + 1),
			PositiveSpans: []histogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []int64{2 * (i + 1)},
		}, promstorage.AppendV2Options{
			Metadata: metadata.Metadata{Type: model.MetricTypeHistogram, Help: "Latency.", Unit: "seconds"},
		})
	}
	add(labels.FromStrings("__name__", "température", "job", "shop", "room.name", "a\"b"), 0, 21.5, nil, promstorage.AppendV2Options{})
	add(labels.FromStrings("__name__", "old_bucket", "job", "shop", "le", "1"), 0, 3, nil, promstorage.AppendV2Options{
		Exemplars: []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "f00"), Value: 0.75, Ts: now.Add(-time.Second).UnixMilli(), HasTs: true}},
	})
	require.NoError(t, app.Commit())
}

// do sends a request; params go into the form of a POST and the query of others.
func (f *fixture) do(method, path, params string) (code int, body string) {
	f.t.Helper()
	var req *http.Request
	var err error
	if method == http.MethodPost {
		req, err = http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v1/"+path, strings.NewReader(params))
		require.NoError(f.t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		req, err = http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v1/"+path+"?"+params, nil)
		require.NoError(f.t, err)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(f.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(f.t, err)
	require.True(f.t, json.Valid(b), "%s", b)
	require.Equal(f.t, "application/json", resp.Header.Get("Content-Type"))
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, string(b)
}

// form encodes pairs of names and values.
func form(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

func decode(t *testing.T, body string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), into))
}
