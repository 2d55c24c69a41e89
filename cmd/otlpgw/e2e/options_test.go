package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
)

// configured runs the gateway with a configuration file.
func configured(t *testing.T, file string, args ...string) *process {
	t.Helper()
	name := filepath.Join(t.TempDir(), "otlpgw.yaml")
	require.NoError(t, os.WriteFile(name, []byte(file), 0o600))
	return start(t, append([]string{"--config.file=" + name}, args...)...)
}

// push sends OTLP/JSON and returns the body of the 200 that it expects.
func (p *process) push(t *testing.T, body string) string {
	t.Helper()
	code, answer, err := post("http://"+p.http+"/v1/metrics", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, answer)
	return answer
}

// counter is a request with one point of a counter of service shop.
func counter(name, instance string, startAt, at time.Time, value int) string {
	return fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[
{"key":"service.name","value":{"stringValue":"shop"}},{"key":"service.instance.id","value":{"stringValue":%q}}]},
"scopeMetrics":[{"metrics":[{"name":%q,"sum":{"aggregationTemporality":2,"isMonotonic":true,
"dataPoints":[{"startTimeUnixNano":"%d","timeUnixNano":"%d","asInt":"%d"}]}}]}]}]}`,
		instance, name, startAt.UnixNano(), at.UnixNano(), value)
}

// Two processes that write one series are told of on the page, in the metric
// and in the log; the page of cardinality counts the series.
func TestDebugPagesTellOfConflicts(t *testing.T) {
	p := start(t)
	_, page := get(t, p.url("/debug/conflicts"))
	require.JSONEq(t, `[]`, page)

	now := time.Now()
	begun := now.Add(-time.Hour)
	p.push(t, counter("jobs", "twin", begun, now.Add(-2*time.Second), 10))
	answer := p.push(t, counter("jobs", "twin", begun, now.Add(-time.Second), 4))
	require.Contains(t, answer, "two processes write one series")

	_, page = get(t, p.url("/debug/conflicts"))
	var conflicts []converter.Conflict
	require.NoError(t, json.Unmarshal([]byte(page), &conflicts))
	require.Len(t, conflicts, 1)
	c := conflicts[0]
	require.Equal(t, "writers", c.Kind)
	require.Equal(t, 1, c.Count)
	require.Contains(t, c.Series, "jobs_total")
	require.Equal(t, `job="shop" instance="twin"`, c.Resource)
	require.False(t, c.LastSeen.Before(now.Truncate(time.Millisecond)))

	_, metrics := get(t, p.url("/metrics"))
	require.Contains(t, metrics, `otlpgw_converter_conflicts_total{kind="writers"} 1`)
	p.waitLog(t, `level=WARN msg=conflict kind=writers`)

	p.push(t, gauge("depth", "a", 1))
	p.push(t, gauge("depth", "b", 2))
	var counts converter.Cardinality
	_, page = get(t, p.url("/debug/cardinality"))
	require.NoError(t, json.Unmarshal([]byte(page), &counts))
	require.Equal(t, converter.Cardinality{
		Series:  3,
		Metrics: []converter.MetricCount{{Name: "depth", Series: 2}, {Name: "jobs_total", Series: 1}},
		Labels:  []converter.LabelCount{{Name: "instance", Values: 3}, {Name: "job", Values: 1}},
	}, counts)
	_, page = get(t, p.url("/debug/cardinality?limit=1"))
	require.NoError(t, json.Unmarshal([]byte(page), &counts))
	require.Len(t, counts.Metrics, 1)
	require.Len(t, counts.Labels, 1)
	code, _ := get(t, p.url("/debug/cardinality?limit=all"))
	require.Equal(t, http.StatusBadRequest, code)
	p.stop(t)
}

// A client whose point is over a limit reads which limit, and the metric says
// so too.
func TestLimitsReachTheClient(t *testing.T) {
	p := configured(t, `
limits:
  max_label_value_length: 20
  max_label_name_length: 20
  max_label_names_per_series: 3
  max_series_per_metric: 2
  max_active_series: 3
  reject_late: true
`)
	ask := func(body, want string) {
		t.Helper()
		var answer struct {
			PartialSuccess struct {
				RejectedDataPoints json.Number `json:"rejectedDataPoints"`
				ErrorMessage       string      `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		text := p.push(t, body)
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.Equal(t, "1", answer.PartialSuccess.RejectedDataPoints.String(), text)
		require.Contains(t, answer.PartialSuccess.ErrorMessage, want)
	}
	ask(gauge("depth", "an instance that is much too long", 1), "limits.max_label_value_length (20)")
	ask(withAttributes("depth", `{"key":"a_name_that_is_too_long","value":{"stringValue":"x"}}`), "limits.max_label_name_length (20)")
	ask(withAttributes("depth", `{"key":"a","value":{"stringValue":"x"}},{"key":"b","value":{"stringValue":"x"}},{"key":"c","value":{"stringValue":"x"}}`),
		"limits.max_label_names_per_series (3)")
	p.push(t, gauge("depth", "a", 1))
	p.push(t, gauge("depth", "b", 1))
	ask(gauge("depth", "c", 1), "limits.max_series_per_metric (2)")
	p.push(t, gauge("height", "a", 1))
	ask(gauge("width", "a", 1), "limits.max_active_series (3)")
	now := time.Now()
	ask(counter("depth", "a", now.Add(-time.Hour), now.Add(2*time.Hour), 1), "limits.max_future is 10m0s")

	_, metrics := get(t, p.url("/metrics"))
	require.Contains(t, metrics, `otlpgw_converter_rejected_points_total{reason="limit"} 5`)
	require.Contains(t, metrics, `otlpgw_converter_rejected_points_total{reason="too_new"} 1`)
	p.stop(t)
}

// withAttributes is a request with one point of a gauge, from nobody.
func withAttributes(name, attributes string) string {
	return fmt.Sprintf(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":%q,"gauge":{"dataPoints":[
{"timeUnixNano":"%d","asInt":"1","attributes":[%s]}]}}]}]}]}`, name, time.Now().UnixNano(), attributes)
}

const relabelled = `
metric_relabel_configs:
  - {source_labels: [__name__], regex: "debug_.*", action: drop}
  - {source_labels: [zone], regex: "(.*)-.*", target_label: region}
  - {action: labeldrop, regex: zone}
`

// Rules apply before the store, whichever it is; what they drop is accepted.
func TestMetricRelabelConfigs(t *testing.T) {
	r := newReceiver(t, remoteapi.WriteV2MessageType)
	for _, d := range []struct {
		name string
		open func() (*process, store)
	}{
		{"local", func() (*process, store) { p := configured(t, relabelled); return p, apiStore{p.admin} }},
		{"direct", func() (*process, store) { return configured(t, relabelled, "--remote-write.url="+r.url), r }},
	} {
		t.Run(d.name, func(t *testing.T) {
			p, s := d.open()
			zone := `{"key":"zone","value":{"stringValue":"eu-1"}}`
			require.JSONEq(t, `{}`, p.push(t, withAttributes("load", zone)))
			require.JSONEq(t, `{}`, p.push(t, withAttributes("debug.load", zone)))
			require.Equal(t, []string{`load region="eu" 1`}, s.query(t, `{__name__=~".*load"}`))
			_, metrics := get(t, p.url("/metrics"))
			require.Contains(t, metrics, "otlpgw_converter_dropped_points_total 1")
			p.stop(t)
		})
	}
}

// The instance of a resource that names none comes from what it has, or from
// the address it sends from.
func TestInstanceFrom(t *testing.T) {
	p := configured(t, "otlp: {instance_from: [host.name+process.pid, peer_ip]}\n")
	from := func(attributes string) string {
		return fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}%s]},
"scopeMetrics":[{"metrics":[{"name":"seen","gauge":{"dataPoints":[{"timeUnixNano":"%d","asInt":"1"}]}}]}]}]}`, attributes, time.Now().UnixNano())
	}
	p.push(t, from(""))
	p.push(t, from(`,{"key":"host.name","value":{"stringValue":"h1"}},{"key":"process.pid","value":{"intValue":"42"}}`))
	p.push(t, from(`,{"key":"service.instance.id","value":{"stringValue":"own"}}`))
	require.Equal(t, []string{
		`seen instance="127.0.0.1" job="shop" 1`,
		`seen instance="h1:42" job="shop" 1`,
		`seen instance="own" job="shop" 1`,
	}, apiStore{p.admin}.query(t, `seen`))
	p.stop(t)
}
