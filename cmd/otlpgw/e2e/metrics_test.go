package e2e

import (
	"net/http"
	"strings"
	"testing"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
)

// Names that dashboards rely on.
var selfMetrics = []string{
	`otlpgw_gateway_requests_total{code="200",encoding="json",transport="http"} 1`,
	`otlpgw_converter_points_total 1`,
	`otlpgw_converter_rejected_points_total{reason="no_time"} 0`,
	`otlpgw_converter_warnings_total{`,
	`otlpgw_converter_repeated_points_total`,
	`otlpgw_converter_conflicts_total{kind=`,
	`otlpgw_series_cache_hits_total`,
	`otlpgw_series_cache_misses_total`,
	`otlpgw_series_cache_bytes`,
	`otlpgw_series_cache_entries`,
	`go_goroutines`,
	`process_resident_memory_bytes`,
}

var sendingMetrics = []string{
	`otlpgw_remotewrite_requests_total{`,
	`otlpgw_remotewrite_samples_total{`,
	`otlpgw_remotewrite_request_duration_seconds_count{`,
	`otlpgw_remotewrite_pending_bytes{`,
	`otlpgw_remotewrite_oldest_pending_seconds{`,
	`otlpgw_remotewrite_circuit_open{`,
}

func TestSelfMetrics(t *testing.T) {
	r := newReceiver(t, remoteapi.WriteV2MessageType)
	for mode, c := range map[string]struct {
		args, want []string
	}{
		"local":  {nil, append(selfMetrics[:len(selfMetrics):len(selfMetrics)], "prometheus_tsdb_head_series")},
		"direct": {[]string{"--remote-write.url=" + r.url}, append(selfMetrics[:len(selfMetrics):len(selfMetrics)], sendingMetrics...)},
	} {
		t.Run(mode, func(t *testing.T) {
			p := start(t, c.args...)
			code, body, err := post("http://"+p.http+"/v1/metrics", gauge("self", mode, 1))
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code, body)

			code, page := get(t, p.url("/metrics"))
			require.Equal(t, http.StatusOK, code)
			for _, want := range c.want {
				require.Contains(t, page, "\n"+want)
			}
			problems, err := promlint.New(strings.NewReader(page)).Lint()
			require.NoError(t, err)
			for _, problem := range problems {
				require.False(t, strings.HasPrefix(problem.Metric, "otlpgw_"), "%s: %s", problem.Metric, problem.Text)
			}
			p.stop(t)
		})
	}
}
