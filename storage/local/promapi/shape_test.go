package promapi_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/local"
	"github.com/otlpgw/otlpgw/storage/local/promapi"
)

// TestShapes compares whole answers with what Prometheus 3 says.
func TestShapes(t *testing.T) {
	f := serve(t, promapi.Options{})
	for _, c := range []struct {
		name, path, params string
		code               int
		want               string
	}{
		{"scalar", "query", form("query", "1+1"), 200,
			`{"status":"success","data":{"resultType":"scalar","result":[1000000000,"2"]}}`},
		{"string", "query", form("query", `"a<b"`, "time", "1000.5"), 200,
			`{"status":"success","data":{"resultType":"string","result":[1000.500,"a<b"]}}`},
		{"vector", "query", form("query", `requests_total{code="200"}`, "time", "2001-09-09T01:46:40Z"), 200,
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"requests_total","code":"200","job":"shop"},"value":[1000000000,"240"]}]}}`},
		{"empty vector", "query", form("query", `nothing`), 200,
			`{"status":"success","data":{"resultType":"vector","result":[]}}`},
		{"special floats", "query", form("query", `vector(1)/0`), 200,
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1000000000,"+Inf"]}]}}`},
		{"utf-8", "query", form("query", `{"température"}`), 200,
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"température","job":"shop","room.name":"a\"b"},"value":[1000000000,"21.5"]}]}}`},
		{"native histogram", "query", form("query", `latency_seconds`), 200,
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"latency_seconds","job":"shop"},"histogram":[1000000000,{"count":"15","sum":"20","buckets":[[3,"-0.5","0.5","5"],[0,"1","2","10"]]}]}]}}`},
		{"range vector", "query", form("query", `requests_total{code="500"}[90s]`), 200,
			`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"requests_total","code":"500","job":"shop"},"values":[[999999940,"3"],[1000000000,"4"]]}]}}`},
		{"matrix", "query_range", form("query", `rate(requests_total{code="200"}[2m])`, "start", "999999940", "end", "1000000000", "step", "1m"), 200,
			`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"code":"200","job":"shop"},"values":[[999999940,"1"],[1000000000,"1"]]}]}}`},
		{"matrix of histograms", "query_range", form("query", `latency_seconds`, "start", "1000000000", "end", "1000000000", "step", "60"), 200,
			`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"latency_seconds","job":"shop"},"histograms":[[1000000000,{"count":"15","sum":"20","buckets":[[3,"-0.5","0.5","5"],[0,"1","2","10"]]}]]}]}}`},
		{"truncated", "query", form("query", `requests_total`, "limit", "1"), 200,
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"requests_total","code":"200","job":"shop"},"value":[1000000000,"240"]}]},"warnings":["results truncated due to limit"]}`},
		{"warning", "query", form("query", `sum({__name__=~"latency_seconds|requests_total"})`), 200,
			`{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["PromQL warning: encountered a mix of histograms and floats for aggregation (1:5)"]}`},
		{"info", "query", form("query", `requests_total{code="200"} + on(job) latency_seconds`), 200,
			`{"status":"success","data":{"resultType":"vector","result":[]},"infos":["PromQL info: incompatible sample types encountered for binary operator \"+\": float + histogram (1:1)"]}`},
		{"series", "series", form("match[]", `requests_total`, "match[]", `{code="500"}`), 200,
			`{"status":"success","data":[{"__name__":"requests_total","code":"200","job":"shop"},{"__name__":"requests_total","code":"500","job":"shop"}]}`},
		{"series limit", "series", form("match[]", `requests_total`, "limit", "1"), 200,
			`{"status":"success","data":[{"__name__":"requests_total","code":"200","job":"shop"}],"warnings":["results truncated due to limit"]}`},
		{"open ends", "label/code/values", form("start", "-292273086-05-16T16:47:06Z", "end", "292277025-08-18T07:12:54.999999999Z"), 200,
			`{"status":"success","data":["200","500"]}`},
		{"far ends", "label/code/values", form("start", "-1e300", "end", "Inf"), 200,
			`{"status":"success","data":["200","500"]}`},
		{"no series", "series", form("match[]", `requests_total`, "end", "1000"), 200,
			`{"status":"success","data":[]}`},
		{"labels", "labels", "", 200,
			`{"status":"success","data":["__name__","code","job","le","room.name"]}`},
		{"labels matching", "labels", form("match[]", "requests_total", "match[]", "old_bucket"), 200,
			`{"status":"success","data":["__name__","code","job","le"]}`},
		{"labels limit", "labels", form("limit", "2"), 200,
			`{"status":"success","data":["__name__","code"],"warnings":["results truncated due to limit"]}`},
		{"label values", "label/code/values", "", 200,
			`{"status":"success","data":["200","500"]}`},
		{"label values escaped", "label/U__room_2e_name/values", form("match[]", `{job="shop"}`), 200,
			`{"status":"success","data":["a\"b"]}`},
		{"label without values", "label/none/values", "", 200,
			`{"status":"success","data":[]}`},
		{"metadata", "metadata", "", 200,
			`{"status":"success","data":{"latency_seconds":[{"type":"histogram","unit":"seconds","help":"Latency."}],"requests":[{"type":"counter","unit":"","help":"Requests."}]}}`},
		{"metadata limit", "metadata", form("limit", "1", "limit_per_metric", "1"), 200,
			`{"status":"success","data":{"latency_seconds":[{"type":"histogram","unit":"seconds","help":"Latency."}]}}`},
		{"metadata of one", "metadata", form("metric", "requests"), 200,
			`{"status":"success","data":{"requests":[{"type":"counter","unit":"","help":"Requests."}]}}`},
		{"exemplars", "query_exemplars", form("query", `rate(old_bucket[1m])`, "start", "999999990", "end", "1000000000"), 200,
			`{"status":"success","data":[{"seriesLabels":{"__name__":"old_bucket","job":"shop","le":"1"},"exemplars":[{"labels":{"trace_id":"f00"},"value":"0.75","timestamp":999999999}]}]}`},
		{"no exemplars", "query_exemplars", form("query", `1`), 200,
			`{"status":"success","data":[]}`},
		{"format", "format_query", form("query", `sum(foo)by(bar)`), 200,
			`{"status":"success","data":"sum by (bar) (foo)"}`},
		{"rules", "rules", "", 200, `{"status":"success","data":{"groups":[]}}`},
		{"alerts", "alerts", "", 200, `{"status":"success","data":{"alerts":[]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, body := f.do(http.MethodGet, c.path, c.params)
			require.JSONEq(t, c.want, body)
			require.Equal(t, c.code, code)
		})
	}
}

func TestTimesWithFractions(t *testing.T) {
	f := serve(t, promapi.Options{})
	for at, want := range map[string]string{
		"1.5": "[1.500,", "1.05": "[1.050,", "1.005": "[1.005,", "-1": "[-1,", "1e9": "[1000000000,",
		"1435781451.781": "[1435781451.781,", "2015-07-01T20:10:51.781+02:00": "[1435774251.781,",
	} {
		_, body := f.do(http.MethodPost, "query", form("query", "1", "time", at))
		require.Contains(t, body, want, at)
	}
}

// TestErrors has the code and the errorType of each kind of failure.
func TestErrors(t *testing.T) {
	f := serve(t, promapi.Options{MaxSamples: 8})
	for _, c := range []struct {
		name, method, path, params string
		code                       int
		typ, message               string
	}{
		{"syntax", "GET", "query", form("query", "sum("), 400, "bad_data", `invalid parameter "query"`},
		{"no query", "GET", "query", "", 400, "bad_data", `invalid parameter "query"`},
		{"time", "GET", "query", form("query", "1", "time", "soon"), 400, "bad_data", `invalid parameter "time": cannot parse "soon" to a valid timestamp`},
		{"not a time", "GET", "query", form("query", "1", "time", "NaN"), 400, "bad_data", `invalid parameter "time"`},
		{"timeout", "GET", "query", form("query", "1", "timeout", "x"), 400, "bad_data", `invalid parameter "timeout"`},
		{"lookback", "GET", "query", form("query", "1", "lookback_delta", "x"), 400, "bad_data", `invalid parameter "lookback_delta"`},
		{"limit", "GET", "query", form("query", "1", "limit", "-1"), 400, "bad_data", `invalid parameter "limit": limit must be non-negative`},
		{"limit no number", "GET", "series", form("match[]", "a", "limit", "x"), 400, "bad_data", `invalid parameter "limit"`},
		{"no start", "GET", "query_range", form("query", "1", "end", "1", "step", "1"), 400, "bad_data", `invalid parameter "start"`},
		{"no end", "GET", "query_range", form("query", "1", "start", "1", "step", "1"), 400, "bad_data", `invalid parameter "end"`},
		{"no step", "GET", "query_range", form("query", "1", "start", "1", "end", "1"), 400, "bad_data", `invalid parameter "step"`},
		{"step zero", "GET", "query_range", form("query", "1", "start", "1", "end", "1", "step", "0"), 400, "bad_data", `zero or negative`},
		{"step overflows", "GET", "query_range", form("query", "1", "start", "1", "end", "1", "step", "1e300"), 400, "bad_data", `overflows`},
		{"end before start", "GET", "query_range", form("query", "1", "start", "2", "end", "1", "step", "1"), 400, "bad_data", `must not be before start`},
		{"too many points", "GET", "query_range", form("query", "1", "start", "0", "end", "11001", "step", "1"), 400, "bad_data", `11,000 points`},
		{"range of a range", "GET", "query_range", form("query", "a[1m]", "start", "0", "end", "1", "step", "1"), 400, "bad_data", `invalid expression type "range vector"`},
		{"execution", "GET", "query", form("query", `requests_total * on(job) requests_total`), 422, "execution", `many-to-many`},
		{"too many samples", "GET", "query", form("query", `{job="shop"}[1h]`), 422, "execution", `too many samples`},
		{"no match", "GET", "series", "", 400, "bad_data", `no match[] parameter provided`},
		{"empty match", "GET", "series", form("match[]", `{a=~".*"}`), 400, "bad_data", `at least one non-empty matcher`},
		{"broken match", "POST", "labels", form("match[]", `{`), 400, "bad_data", `invalid parameter "match[]"`},
		{"label name", "GET", "label/%FF/values", "", 400, "bad_data", `invalid label name`},
		{"exemplar range", "GET", "query_exemplars", form("query", "a", "start", "2", "end", "1"), 400, "bad_data", `must not be before`},
		{"exemplar query", "GET", "query_exemplars", form("query", "("), 400, "bad_data", `invalid parameter "query"`},
		{"metadata limit", "GET", "metadata", form("limit", "x"), 400, "bad_data", `limit must be a number`},
		{"form", "POST", "query", "query=%zz", 400, "bad_data", `error parsing form values`},
		{"unknown path", "GET", "targets", "", 404, "not_found", `/api/v1/targets`},
		{"method", "DELETE", "query", "", 405, "bad_data", `DELETE is not allowed`},
		{"values by POST", "POST", "label/a/values", "", 405, "bad_data", `POST is not allowed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, body := f.do(c.method, c.path, c.params)
			require.Equal(t, c.code, code, body)
			require.Contains(t, body, `"status":"error","errorType":"`+c.typ+`"`)
			var msg struct{ Error string }
			decode(t, body, &msg)
			require.Contains(t, msg.Error, c.message)
		})
	}
}

func TestTimeoutIs503(t *testing.T) {
	f := serve(t, promapi.Options{})
	for _, path := range []string{"query"} {
		code, body := f.do(http.MethodGet, path, form("query", "requests_total", "timeout", "-1s"))
		require.Equal(t, 400, code, "a negative duration is no duration: %s", body)
		code, body = f.do(http.MethodGet, path, form("query", "requests_total", "timeout", "0.000000001"))
		require.Equal(t, 503, code, body)
		require.Contains(t, body, `"errorType":"timeout"`)
	}
	f = serve(t, promapi.Options{Timeout: time.Nanosecond})
	for path, params := range map[string]string{"query": form("query", "requests_total"), "series": form("match[]", "requests_total"), "labels": ""} {
		code, body := f.do(http.MethodGet, path, params)
		require.Equal(t, 503, code, "%s: %s", path, body)
		require.Contains(t, body, `"errorType":"timeout"`)
	}
}

// TestWaitsForASlot fills the only slot with a query that waits in the store.
func TestWaitsForASlot(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	f := serve(t, promapi.Options{MaxConcurrent: 1, Store: nil})
	blocking := &blockingStore{Backend: f.store, entered: entered, leave: leave}
	f2 := serve(t, promapi.Options{MaxConcurrent: 1, Store: blocking})
	first := make(chan int)
	go func() {
		code, _ := f2.do(http.MethodGet, "labels", "")
		first <- code
	}()
	<-entered
	code, body := f2.do(http.MethodGet, "query", form("query", "requests_total", "timeout", "10ms"))
	require.Equal(t, 503, code, body)
	require.Contains(t, body, `"errorType":"timeout"`)
	close(leave)
	require.Equal(t, 200, <-first)
	code, body = f2.do(http.MethodGet, "query", form("query", "requests_total"))
	require.Equal(t, 200, code, body)
}

type blockingStore struct {
	*local.Backend
	entered, leave chan struct{}
}

func (b *blockingStore) Querier(mint, maxt int64) (promstorage.Querier, error) {
	select {
	case b.entered <- struct{}{}:
	case <-b.leave:
	}
	<-b.leave
	return b.Backend.Querier(mint, maxt)
}

// brokenStore fails to read.
type brokenStore struct {
	*local.Backend
	err error
}

func (b brokenStore) Querier(mint, maxt int64) (promstorage.Querier, error) {
	q, err := b.Backend.Querier(mint, maxt)
	return brokenQuerier{q, b.err}, err
}

type brokenQuerier struct {
	promstorage.Querier
	err error
}

func (q brokenQuerier) Select(context.Context, bool, *promstorage.SelectHints, ...*labels.Matcher) promstorage.SeriesSet {
	return promstorage.ErrSeriesSet(q.err)
}

func TestStoreErrors(t *testing.T) {
	f := serve(t, promapi.Options{})
	bad := errors.New("bad block")
	for _, c := range []struct {
		err  error
		code int
		typ  string
	}{
		{bad, 422, "execution"},
		{promql.ErrStorage{Err: bad}, 500, "internal"},
		{promql.ErrStorage{Err: storage.Unavailable(bad, 0)}, 503, "unavailable"},
		{storage.Unavailable(bad, 0), 503, "unavailable"},
	} {
		broken := serve(t, promapi.Options{Store: brokenStore{f.store, c.err}})
		code, body := broken.do(http.MethodGet, "query", form("query", "requests_total"))
		require.Equal(t, c.code, code)
		require.Contains(t, body, `"errorType":"`+c.typ+`","error":"`)
		require.Contains(t, body, `bad block"`)
	}

	require.NoError(t, f.store.Close(t.Context()))
	for path, params := range map[string]string{
		"query": form("query", "requests_total"), "series": form("match[]", "requests_total"), "labels": "",
		"query_exemplars": form("query", "requests_total"),
	} {
		code, body := f.do(http.MethodPost, path, params)
		require.Equal(t, 503, code, "%s: %s", path, body)
		require.Contains(t, body, `"errorType":"unavailable"`)
	}
	code, _ := f.do(http.MethodGet, "metadata", "")
	require.Equal(t, 200, code)
}

func TestStats(t *testing.T) {
	f := serve(t, promapi.Options{})
	for _, want := range []string{"", "true", "all"} {
		_, body := f.do(http.MethodGet, "query", form("query", "requests_total", "stats", want))
		var got struct {
			Data struct {
				Stats *struct {
					Timings map[string]float64
					Samples struct {
						TotalQueryableSamples        int
						TotalQueryableSamplesPerStep [][2]float64
					}
				}
			}
		}
		decode(t, body, &got)
		if want == "" {
			require.Nil(t, got.Data.Stats)
			continue
		}
		require.Contains(t, got.Data.Stats.Timings, "evalTotalTime")
		require.Equal(t, 2, got.Data.Stats.Samples.TotalQueryableSamples)
		require.Empty(t, got.Data.Stats.Samples.TotalQueryableSamplesPerStep, "not kept, see New")
	}
}

// TestLargeAnswer is written in more than one piece.
func TestLargeAnswer(t *testing.T) {
	f := serve(t, promapi.Options{})
	app := f.store.AppenderV2(t.Context())
	const series = 3000
	for i := range series {
		_, err := app.Append(0, labels.FromStrings("__name__", "large", "n", time.Duration(i).String()), 0, now.UnixMilli(), 1, nil, nil, promstorage.AppendV2Options{})
		require.NoError(t, err)
	}
	require.NoError(t, app.Commit())
	for path, params := range map[string]string{"query": form("query", "large"), "series": form("match[]", "large"), "label/n/values": ""} {
		_, body := f.do(http.MethodGet, path, params)
		require.Greater(t, len(body), 20_000)
		var got struct{ Data any }
		decode(t, body, &got)
		items, ok := got.Data.([]any)
		if !ok {
			items = got.Data.(map[string]any)["result"].([]any)
		}
		require.Len(t, items, series)
	}
}
