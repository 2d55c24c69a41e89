package gateway

import (
	"fmt"
	"net/http"
	"strings"
)

// remoteWriteHint answers a Prometheus remote-write request.
const remoteWriteHint = "this is a Prometheus remote-write request, and this endpoint takes OTLP metrics. " +
	"otlpgw sends remote write and does not receive it: point the sender at the backend's own receiver " +
	"(Prometheus: /api/v1/write with --web.enable-remote-write-receiver)"

// isRemoteWrite reports whether a request is remote write, by what only that
// protocol has: its version header, snappy, the message in the media type.
func isRemoteWrite(h http.Header, contentType, coding string) bool {
	if len(h["X-Prometheus-Remote-Write-Version"]) > 0 || coding == "snappy" {
		return true
	}
	// "application/x-protobuf;proto=io.prometheus.write.v2.Request"; 1.0 has
	// "proto=prometheus.WriteRequest".
	_, params, _ := strings.Cut(contentType, ";")
	return params != "" && strings.Contains(strings.ToLower(params), "proto=") && strings.Contains(params, "prometheus")
}

// remoteWritePaths are the ends of the paths at which remote write is received:
// Prometheus, Mimir, Thanos.
var remoteWritePaths = []string{"/api/v1/write", "/api/v1/push", "/api/v1/receive"}

// otherSignals are the signals of OTLP that are not metrics.
var otherSignals = []struct{ name, path, service string }{
	{"traces", "/v1/traces", "opentelemetry.proto.collector.trace."},
	{"logs", "/v1/logs", "opentelemetry.proto.collector.logs."},
	{"profiles", "/profiles", "opentelemetry.proto.collector.profiles."},
}

// hintForPath says where r should have gone.
func (g *Gateway) hintForPath(r *http.Request) string {
	path := r.URL.Path
	for _, s := range otherSignals {
		if strings.HasSuffix(path, s.path) {
			return g.hintForSignal(s.name)
		}
	}
	remoteWrite := isRemoteWrite(r.Header, r.Header.Get("Content-Type"), strings.ToLower(r.Header.Get("Content-Encoding")))
	for _, p := range remoteWritePaths {
		remoteWrite = remoteWrite || strings.HasSuffix(path, p)
	}
	if remoteWrite {
		return remoteWriteHint
	}
	return fmt.Sprintf("no such path: %q; OTLP metrics are posted to %s", shortenTo(path, 256), strings.Join(metricsPaths, ", "))
}

// hintForMethod says what is served instead of a gRPC method.
func (g *Gateway) hintForMethod(method string) string {
	for _, s := range otherSignals {
		if strings.HasPrefix(method, "/"+s.service) {
			return g.hintForSignal(s.name)
		}
	}
	return fmt.Sprintf("no such method: %q; OTLP metrics are sent to %s", shortenTo(method, 256), exportFullName)
}

// hintForSignal answers a signal that is not taken here. It is logged once:
// whoever set the endpoint may not see the answers, and an SDK repeats itself.
func (g *Gateway) hintForSignal(signal string) string {
	if _, again := g.warned.LoadOrStore(signal, true); !again {
		g.logger.Warn("a client sends "+signal+" here, which are refused; the SDK sends every signal to OTEL_EXPORTER_OTLP_ENDPOINT, and OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is for metrics alone",
			"signal", signal)
	}
	return "this endpoint takes OTLP metrics and no " + signal +
		"; in the SDK, set OTEL_EXPORTER_OTLP_METRICS_ENDPOINT to it and leave OTEL_EXPORTER_OTLP_ENDPOINT to the " + signal + " backend"
}
