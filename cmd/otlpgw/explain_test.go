package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// explainText runs otlpgw explain with the payload on standard input.
func explainText(payload string, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = run(append([]string{"explain"}, args...), strings.NewReader(payload), &out, &errs)
	return code, out.String(), errs.String()
}

const twoOrders = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
"scopeMetrics":[{"metrics":[{"name":"orders.taken","unit":"s","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
{"asInt":7,"startTimeUnixNano":"500000000","timeUnixNano":"1500000000","attributes":[{"key":"http.route","value":{"stringValue":"/a"}}]},
{"asInt":8}]}}]}]}]}`

const wantOrders = `orders_taken_seconds_total{http_route="/a", job="shop"} 7 @1500 start=500
REJECTED no_time: "orders.taken": time_unix_nano is 0
REPORT points=2 rejected=1: rejected 1 of 2 data points: 1 no_time (time_unix_nano is 0) in "orders.taken"
`

// Rejections are part of the answer, and no failure.
func TestExplain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.json")
	require.NoError(t, os.WriteFile(file, []byte(twoOrders), 0o600))
	for _, args := range [][]string{{}, {"-"}, {file}, {"--format=text", file}, {file, "--format", "text"}} {
		code, out, errs := explainText(twoOrders, args...)
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		require.Equal(t, wantOrders, out, args)
	}
	code, out, _ := explainText("")
	require.Zero(t, code)
	require.Equal(t, "REPORT points=0 rejected=0\n", out, "an empty protobuf message is a request without metrics")
}

func TestExplainJSON(t *testing.T) {
	code, out, errs := explainText(twoOrders, "--format=json")
	require.Zero(t, code, errs)
	require.JSONEq(t, `{
"series": [{"labels": {"__name__": "orders_taken_seconds_total", "http_route": "/a", "job": "shop"},
	"value": 7, "ms": 1500, "start_ms": 500, "type": "counter", "unit": "seconds"}],
"verdicts": [{"rejected": true, "reason": "no_time", "metric": "orders.taken", "detail": "time_unix_nano is 0"}],
"report": {"points": 2, "rejected": 1, "message": "rejected 1 of 2 data points: 1 no_time (time_unix_nano is 0) in \"orders.taken\""}
}`, out)
}

// The configuration file says how to convert, and --strategy wins over it.
func TestExplainWithConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "otlpgw.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
otlp: {namespace: shop, translation_strategy: NoTranslation, instance_from: [service.name]}
limits: {max_label_value_length: 100, max_sample_age: 1h}
metric_relabel_configs: [{action: labeldrop, regex: http.*}]
`), 0o600))
	code, out, errs := explainText(twoOrders, "--config.file="+file)
	require.Zero(t, code, errs)
	require.Contains(t, out, `{"shop_orders.taken", instance="shop", job="shop"} 7 @1500 start=500`+"\n", "however old it is")

	code, out, errs = explainText(twoOrders, "--config.file="+file, "--strategy=UnderscoreEscapingWithoutSuffixes")
	require.Zero(t, code, errs)
	require.Contains(t, out, `shop_orders_taken{instance="shop", job="shop"} 7 @1500 start=500`+"\n")

	require.NoError(t, os.WriteFile(file, []byte("limits: {max_label_value_length: 1}\n"), 0o600))
	_, out, _ = explainText(twoOrders, "--config.file="+file)
	require.Contains(t, out, `REJECTED limit: "orders.taken": over a limit: value of label "`)

	require.NoError(t, os.WriteFile(file, []byte("htp: {}\n"), 0o600))
	code, _, errs = explainText(twoOrders, "--config.file="+file)
	require.Equal(t, 1, code)
	require.Equal(t, file+": line 1: htp: unknown key; did you mean http?\n", errs)
}

// A point ahead of the clock is rejected as the gateway would.
func TestExplainFuture(t *testing.T) {
	ahead := strings.ReplaceAll(twoOrders, `"1500000000"`, fmt.Sprintf(`"%d"`, time.Now().Add(time.Hour).UnixNano()))
	code, out, _ := explainText(ahead)
	require.Zero(t, code)
	require.Contains(t, out, `REJECTED too_new: "orders.taken": further in the future than limits.max_future`)
}

func TestExplainComparesStrategies(t *testing.T) {
	args := []string{"--strategy=UnderscoreEscapingWithSuffixes", "--strategy", "NoTranslation"}
	code, out, errs := explainText(twoOrders, args...)
	require.Zero(t, code, errs)
	require.Equal(t, `UnderscoreEscapingWithSuffixes -> NoTranslation

orders.taken
  orders_taken_seconds_total -> orders.taken
  label http_route -> http.route
`, out)

	code, out, errs = explainText(twoOrders, append(args, "--format=json")...)
	require.Zero(t, code, errs)
	var names struct {
		Old, New string
		Metrics  []struct {
			Metric string
			Names  []struct{ Old, New string }
			Labels []struct{ Attribute, Old, New string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &names))
	require.Equal(t, "orders.taken", names.Metrics[0].Metric)
	require.Equal(t, "orders_taken_seconds_total", names.Metrics[0].Names[0].Old)
	require.Equal(t, "http.route", names.Metrics[0].Labels[0].New)
}

func TestExplainFailures(t *testing.T) {
	for _, c := range []struct {
		payload string
		args    []string
		want    string
	}{
		{twoOrders[:200], nil, "otlpgw: explain: standard input: expected"},
		{twoOrders[:200], nil, "at byte 200 in resourceMetrics[0]"},
		{"\x0a\x05ab", nil, "at byte 0 in ExportMetricsServiceRequest"},
		{"\x0a\x05ab", []string{"--strategy=NoTranslation", "--strategy=NoTranslation"}, "at byte 0"},
		{"\x1f\x8bxx", nil, "gzip: "},
		{"", []string{"/no/such/file"}, "otlpgw: explain: /no/such/file: no such file or directory\n"},
		{"", []string{"--config.file=/no/such/file"}, "no such file"},
		{"", []string{"a", "b"}, `unexpected argument "b"`},
		{"", []string{"--format=xml"}, `--format "xml": must be text or json`},
		{"", []string{"--strategy=Camel"}, "must be one of UnderscoreEscapingWithSuffixes "},
		{"", []string{"--strategy=NoTranslation", "--strategy=NoTranslation", "--strategy=NoTranslation"}, "more than twice"},
		{"", []string{"--frob"}, "flag provided but not defined: --frob"},
	} {
		code, out, errs := explainText(c.payload, c.args...)
		require.Equal(t, 1, code, c.want)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}

	file := filepath.Join(t.TempDir(), "otlpgw.yaml")
	require.NoError(t, os.WriteFile(file, []byte("http: {max_request_size: 100B}\ngrpc: {max_request_size: 200B}\n"), 0o600))
	_, _, errs := explainText(strings.Repeat(" ", 201), "--config.file="+file)
	require.Contains(t, errs, "larger than http.max_request_size and grpc.max_request_size allow (200 bytes)")
}

func TestExplainHelp(t *testing.T) {
	code, out, errs := explainText("", "--help")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Equal(t, explainUsage, out)
	for _, s := range strategies {
		require.Contains(t, out, string(s))
	}
}
