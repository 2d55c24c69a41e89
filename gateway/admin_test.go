package gateway

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestAdminPages(t *testing.T) {
	var unready atomic.Pointer[error]
	g := start(t, Options{
		Ready: func() error {
			if p := unready.Load(); p != nil {
				return *p
			}
			return nil
		},
		Config: func() []byte { return []byte("otlp:\n  password: <redacted>\n") },
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
		}),
	})
	g.post("/v1/metrics", nil, "Content-Type", protobufType)

	code, body := g.adminPage("/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, body, `otlpgw_gateway_requests_total{code="200",encoding="protobuf",transport="http"} 1`)
	code, body = g.adminPage("/-/config")
	require.Equal(t, 200, code)
	require.Contains(t, body, "<redacted>")
	code, body = g.adminPage("/api/v1/query")
	require.Equal(t, 200, code)
	require.Equal(t, "GET /api/v1/query", body)
	code, _ = g.adminPage("/debug/pprof/goroutine?debug=1")
	require.Equal(t, 200, code)
	code, _ = g.adminPage("/nothing")
	require.Equal(t, 404, code)

	code, body = g.adminPage("/")
	require.Equal(t, 200, code)
	links := regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(body, -1)
	require.Len(t, links, 5)
	for _, l := range links {
		code, _ = g.adminPage(l[1])
		require.Equal(t, 200, code, "%s is listed", l[1])
	}

	code, _ = g.adminPage("/-/ready")
	require.Equal(t, 200, code)
	why := errors.New("the store is replaying its log")
	unready.Store(&why)
	code, body = g.adminPage("/-/ready")
	require.Equal(t, 503, code)
	require.Contains(t, body, why.Error())
	code, _ = g.adminPage("/-/healthy")
	require.Equal(t, 200, code, "not being ready is no reason to be restarted")

	bare := start(t, Options{})
	for _, page := range []string{"/-/config", "/api/v1/query"} {
		code, _ = bare.adminPage(page)
		require.Equal(t, 404, code)
	}
	_, body = bare.adminPage("/")
	require.NotContains(t, body, "/-/config")
}

func TestMetrics(t *testing.T) {
	g := start(t, Options{})
	g.post("/v1/metrics", []byte("0123456789"), "Content-Type", protobufType)
	g.post("/v1/metrics", []byte("{}"), "Content-Type", jsonType)
	g.post("/v1/metrics", []byte("x"), "Content-Type", jsonType, "Content-Encoding", "gzip")
	g.post("/", nil)
	require.NoError(t, testutil.GatherAndCompare(g.reg, strings.NewReader(`
# HELP otlpgw_gateway_in_flight_bytes Weight of the requests in flight.
# TYPE otlpgw_gateway_in_flight_bytes gauge
otlpgw_gateway_in_flight_bytes 0
# HELP otlpgw_gateway_in_flight_limit_bytes Weight of the requests in flight beyond which more are refused.
# TYPE otlpgw_gateway_in_flight_limit_bytes gauge
otlpgw_gateway_in_flight_limit_bytes 2.68435456e+08
# HELP otlpgw_gateway_in_flight_requests Requests between their header and their answer.
# TYPE otlpgw_gateway_in_flight_requests gauge
otlpgw_gateway_in_flight_requests{transport="grpc"} 0
otlpgw_gateway_in_flight_requests{transport="http"} 0
# HELP otlpgw_gateway_panics_total Panics caught while serving a request. Each is a bug.
# TYPE otlpgw_gateway_panics_total counter
otlpgw_gateway_panics_total 0
# HELP otlpgw_gateway_refusals_total Requests told to come back later, by what was short.
# TYPE otlpgw_gateway_refusals_total counter
otlpgw_gateway_refusals_total{reason="bytes"} 0
otlpgw_gateway_refusals_total{reason="draining"} 0
otlpgw_gateway_refusals_total{reason="slots"} 0
# HELP otlpgw_gateway_request_size_bytes Inflated size of the requests that reached conversion.
# TYPE otlpgw_gateway_request_size_bytes histogram
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="1024"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="4096"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="16384"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="65536"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="262144"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="1.048576e+06"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="4.194304e+06"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="1.6777216e+07"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="6.7108864e+07"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="grpc",le="+Inf"} 0
otlpgw_gateway_request_size_bytes_sum{transport="grpc"} 0
otlpgw_gateway_request_size_bytes_count{transport="grpc"} 0
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="1024"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="4096"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="16384"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="65536"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="262144"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="1.048576e+06"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="4.194304e+06"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="1.6777216e+07"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="6.7108864e+07"} 2
otlpgw_gateway_request_size_bytes_bucket{transport="http",le="+Inf"} 2
otlpgw_gateway_request_size_bytes_sum{transport="http"} 12
otlpgw_gateway_request_size_bytes_count{transport="http"} 2
`), "otlpgw_gateway_in_flight_bytes", "otlpgw_gateway_in_flight_limit_bytes", "otlpgw_gateway_in_flight_requests",
		"otlpgw_gateway_panics_total", "otlpgw_gateway_refusals_total", "otlpgw_gateway_request_size_bytes"))
	for _, c := range []struct{ encoding, code string }{{"protobuf", "200"}, {"json", "200"}, {"json", "400"}, {"none", "404"}} {
		require.Equal(t, 1.0, g.value("otlpgw_gateway_requests_total", "transport", "http", "encoding", c.encoding, "code", c.code), c)
	}
	require.Equal(t, 4.0, g.value("otlpgw_gateway_requests_total"))

	problems, err := testutil.GatherAndLint(g.reg)
	require.NoError(t, err)
	require.Empty(t, problems)

	// Two gateways do not fit into one registry, and that is an error.
	reg := prometheus.NewRegistry()
	_, err = New(Options{Pusher: &recorder{}, Registerer: reg})
	require.NoError(t, err)
	_, err = New(Options{Pusher: &recorder{}, Registerer: reg})
	require.ErrorContains(t, err, "registering the gateway's metrics")
}

// TestEveryOutcomeIsCounted: a code without a counter would be an answer that
// no dashboard shows.
func TestEveryOutcomeIsCounted(t *testing.T) {
	m, err := newMetrics(nil, &gate{}, &tenants{})
	require.NoError(t, err)
	for _, o := range []outcome{outcomeBadData, outcomeTooLarge, outcomeBusy, outcomeThrottled, outcomeNoPath,
		outcomeNoMethod, outcomeNoEncoding, outcomeNoOrigin, outcomeForbidden, outcomeNoCredentials, outcomeBug} {
		require.NotNil(t, m.http[o.http], o)
		require.NotNil(t, m.grpc[o.grpc], o)
	}
}
