package promapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/local/promapi"
)

// grafanaRequests are what Grafana's Prometheus data source sends (its default
// method is POST, the other is an option; what has no POST in Prometheus is
// always a GET). Data is a part of the answer that it goes on with.
var grafanaRequests = []struct {
	what         string
	methods      string
	path, params string
	data         string
}{
	// "Save & test".
	{"health check", "GET POST", "query", form("query", "1+1", "time", "1000000000"), `"resultType":"scalar","result":[1000000000,"2"]`},
	{"which flavour and version", "GET", "status/buildinfo", "", `"version":"3.`},
	{"are there rules", "GET", "rules", "", `"groups":[]`},
	{"alerts of the alert list", "GET", "alerts", "", `"alerts":[]`},

	// Opening Explore or a dashboard's query editor.
	{"metrics for completion", "GET", "label/__name__/values", form("start", "999996400", "end", "1000000000"), `"requests_total"`},
	{"metrics, bounded", "GET", "label/__name__/values", form("start", "999996400", "end", "1000000000", "limit", "40000"), `"température"`},
	{"metrics that match what is typed", "GET", "label/__name__/values", form("match[]", `{__name__=~".*req.*"}`, "start", "999996400", "end", "1000000000", "limit", "40000"), `["requests_total"]`},
	{"help and types", "GET", "metadata", "", `"requests":[{"type":"counter"`},
	{"help and types, bounded", "GET", "metadata", form("limit", "40000"), `"latency_seconds":[{"type":"histogram","unit":"seconds"`},
	{"one metric's help", "GET", "metadata", form("metric", "requests"), `"help":"Requests."`},
	{"label names", "GET POST", "labels", form("start", "999996400", "end", "1000000000"), `["__name__","code","job","le","room.name"]`},
	{"label names, bounded", "GET POST", "labels", form("start", "999996400", "end", "1000000000", "limit", "40000"), `"room.name"`},
	{"label names of a metric", "GET POST", "labels", form("match[]", `{__name__="requests_total"}`, "start", "999996400", "end", "1000000000", "limit", "40000"), `["__name__","code","job"]`},
	{"label values", "GET", "label/job/values", form("start", "999996400", "end", "1000000000"), `["shop"]`},
	{"label values of a selection", "GET", "label/code/values", form("match[]", `{__name__="requests_total",job="shop"}`, "start", "999996400", "end", "1000000000", "limit", "40000"), `["200","500"]`},
	{"values of a label with a dot", "GET", "label/U__room_2e_name/values", form("start", "999996400", "end", "1000000000"), `["a\"b"]`},
	{"series of a metric", "GET POST", "series", form("match[]", `{__name__="requests_total"}`, "start", "999996400", "end", "1000000000", "limit", "40000"), `"code":"500"`},
	{"series of a bare name", "GET POST", "series", form("match[]", "requests_total", "start", "999996400", "end", "1000000000"), `"code":"500"`},

	// Running queries.
	{"instant query", "GET POST", "query", form("query", `sum by (code) (rate(requests_total{job="shop"}[2m]))`, "time", "1000000000.123"), `"resultType":"vector"`},
	{"range query", "GET POST", "query_range", form("query", `sum(rate(requests_total[2m]))`, "start", "999996400", "end", "1000000000", "step", "15"), `"resultType":"matrix"`},
	{"range query with milliseconds", "GET POST", "query_range", form("query", `requests_total`, "start", "999996400.250", "end", "1000000000.250", "step", "0.5"), `"resultType":"matrix"`},
	{"heatmap of a native histogram", "GET POST", "query_range", form("query", `latency_seconds`, "start", "999999940", "end", "1000000000", "step", "15"), `"histograms":[[`},
	{"exemplars", "GET POST", "query_exemplars", form("query", `histogram_quantile(0.9, sum by (le) (rate(old_bucket[5m])))`, "start", "999996400", "end", "1000000000"), `"exemplars":[{"labels":{"trace_id":"f00"}`},

	// Variables of dashboards.
	{"query_result()", "GET POST", "query", form("query", `count by (job) (requests_total)`, "time", "1000000000"), `"job":"shop"`},
	{"label_values(label)", "GET", "label/job/values", form("start", "999996400", "end", "1000000000"), `["shop"]`},
	{"label_values(metric, label)", "GET", "label/code/values", form("match[]", "requests_total", "start", "999996400", "end", "1000000000"), `["200","500"]`},
}

func TestGrafana(t *testing.T) {
	f := serve(t, promapi.Options{})
	for _, c := range grafanaRequests {
		for method := range strings.FieldsSeq(c.methods) {
			t.Run(c.what+" "+method, func(t *testing.T) {
				code, body := f.do(method, c.path, c.params)
				require.Equal(t, http.StatusOK, code, body)
				require.True(t, strings.HasPrefix(body, `{"status":"success","data":`), body)
				require.Contains(t, body, c.data)
			})
		}
	}
}
