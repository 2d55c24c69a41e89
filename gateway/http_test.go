package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	"github.com/otlpgw/otlpgw/converter"
)

func TestHTTPAccepts(t *testing.T) {
	msg := bytes.Repeat([]byte("otlp"), 40_000)
	// A window that is larger than the content makes another kind of frame.
	small := []byte("otlp")
	tests := map[string]struct {
		path, contentType, coding string
		wire, want                []byte
		json                      bool
	}{
		"protobuf":                     {contentType: protobufType, wire: msg, want: msg},
		"protobuf with parameters":     {contentType: protobufType + "; charset=utf-8", wire: msg, want: msg},
		"protobuf, other case":         {contentType: "Application/X-Protobuf", wire: msg, want: msg},
		"JSON":                         {contentType: jsonType, wire: msg, want: msg, json: true},
		"JSON with charset":            {contentType: jsonType + "; charset=utf-8", wire: msg, want: msg, json: true},
		"JSON with a broken parameter": {contentType: jsonType + "; charset", wire: msg, want: msg, json: true},
		"Prometheus's path":            {path: "/api/v1/otlp/v1/metrics", contentType: protobufType, wire: msg, want: msg},
		"Mimir's path":                 {path: "/otlp/v1/metrics", contentType: protobufType, wire: msg, want: msg},
		"VictoriaMetrics's path":       {path: "/opentelemetry/v1/metrics", contentType: protobufType, wire: msg, want: msg},
		"identity":                     {contentType: protobufType, coding: "identity", wire: msg, want: msg},
		"gzip":                         {contentType: protobufType, coding: "gzip", wire: gzipOf(t, msg), want: msg},
		"gzip of JSON":                 {contentType: jsonType, coding: "gzip", wire: gzipOf(t, msg), want: msg, json: true},
		"gzip, other case":             {contentType: protobufType, coding: "GZIP", wire: gzipOf(t, msg), want: msg},
		"gzip of several members":      {contentType: protobufType, coding: "gzip", wire: gzipOf(t, small, msg, small), want: []byte("otlp" + string(msg) + "otlp")},
		"zstd":                         {contentType: protobufType, coding: "zstd", wire: zstdOf(t, msg), want: msg},
		"zstd, small":                  {contentType: protobufType, coding: "zstd", wire: zstdOf(t, small), want: small},
		"zstd of several frames":       {contentType: protobufType, coding: "zstd", wire: zstdOf(t, small, msg), want: []byte("otlp" + string(msg))},
		"empty request":                {contentType: protobufType, wire: nil, want: nil},
		"empty request, gzip":          {contentType: protobufType, coding: "gzip", wire: gzipOf(t, nil), want: nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &recorder{}
			g := start(t, Options{Pusher: p})
			if tt.path == "" {
				tt.path = "/v1/metrics"
			}
			header := []string{"Content-Type", tt.contentType}
			if tt.coding != "" {
				header = append(header, "Content-Encoding", tt.coding)
			}
			for _, length := range []string{"known", "unknown"} {
				var body io.Reader = bytes.NewReader(tt.wire)
				if length == "unknown" {
					body = io.MultiReader(body)
				}
				a := g.send(http.MethodPost, tt.path, body, header...)
				require.Equal(t, http.StatusOK, a.code, "%s", a.body)
				if tt.json {
					require.Equal(t, jsonType, a.header.Get("Content-Type"))
					require.Equal(t, "{}", string(a.body))
				} else {
					require.Equal(t, protobufType, a.header.Get("Content-Type"))
					require.Empty(t, a.body)
				}
				require.Nil(t, a.response(t).PartialSuccess)
			}
			require.Len(t, p.got(), 2)
			for i, b := range p.got() {
				require.True(t, bytes.Equal(tt.want, b), "body %d differs", i)
				require.Equal(t, tt.json, p.json[i])
			}
			require.Zero(t, g.gate.used.Load())
		})
	}
}

func TestHTTPRefuses(t *testing.T) {
	const limit, jsonLimit = 1 << 20, 256 << 10
	valid := []byte("otlp")
	packed := gzipOf(t, bytes.Repeat(valid, 1000))
	packedZstd := zstdOf(t, bytes.Repeat([]byte("some text that does not repeat at once"), 1000))
	long, tooLong := bytes.Repeat([]byte{'x'}, limit), bytes.Repeat([]byte{'x'}, limit+1)
	tests := map[string]struct {
		method, path, contentType string
		header                    []string
		wire                      []byte
		code                      int
		json                      bool
		says                      []string
	}{
		"other method":           {method: http.MethodGet, code: 405, json: true, says: []string{"GET", "POST"}},
		"options without CORS":   {method: http.MethodOptions, code: 405, json: true, says: []string{"POST"}},
		"no media type":          {contentType: "-", wire: valid, code: 415, json: true, says: []string{protobufType, jsonType}},
		"text":                   {contentType: "text/plain", wire: valid, code: 415, json: true, says: []string{"text/plain", protobufType, jsonType}},
		"nonsense media type":    {contentType: "a/b/c;;", wire: valid, code: 415, json: true, says: []string{"a/b/c"}},
		"brotli":                 {header: []string{"Content-Encoding", "br"}, wire: valid, code: 415, json: true, says: []string{"br", "gzip, zstd, identity"}},
		"two encodings":          {header: []string{"Content-Encoding", "gzip", "Content-Encoding", "zstd"}, wire: valid, code: 415, json: true, says: []string{"gzip, zstd"}},
		"too large":              {wire: tooLong, code: 413, says: []string{"request of more than 1 MiB is larger than http.max-request-size (1 MiB)"}},
		"too large JSON":         {contentType: jsonType, wire: long, code: 413, json: true, says: []string{"request of 1 MiB is larger than http.max-json-size (256 KiB)"}},
		"gzip too large":         {header: []string{"Content-Encoding", "gzip"}, wire: gzipOf(t, tooLong), code: 413, says: []string{"request of more than 1 MiB inflated is larger than http.max-request-size (1 MiB)"}},
		"gzip of JSON too large": {contentType: jsonType, header: []string{"Content-Encoding", "gzip"}, wire: gzipOf(t, long), code: 413, json: true, says: []string{"more than 256 KiB inflated", "http.max-json-size"}},
		"zstd too large":         {header: []string{"Content-Encoding", "zstd"}, wire: zstdOf(t, tooLong), code: 413, says: []string{"more than 1 MiB inflated"}},
		"gzip bomb of members":   {header: []string{"Content-Encoding", "gzip"}, wire: bytes.Repeat(gzipOf(t, long), 500), code: 413, says: []string{"more than 1 MiB inflated"}},
		"torn gzip":              {header: []string{"Content-Encoding", "gzip"}, wire: packed[:len(packed)-9], code: 400, says: []string{"gzip", "ends early"}},
		"gzip without trailer":   {header: []string{"Content-Encoding", "gzip"}, wire: packed[:len(packed)-1], code: 400, says: []string{"gzip", "ends early"}},
		"gzip and garbage":       {header: []string{"Content-Encoding", "gzip"}, wire: append(bytes.Clone(packed), "garbage garbage"...), code: 400, says: []string{"gzip"}},
		"no gzip":                {header: []string{"Content-Encoding", "gzip"}, wire: []byte("this is certainly no gzip"), code: 400, says: []string{"no valid gzip"}},
		"empty gzip":             {header: []string{"Content-Encoding", "gzip"}, code: 400, says: []string{"gzip", "ends early"}},
		"torn zstd":              {header: []string{"Content-Encoding", "zstd"}, wire: packedZstd[:len(packedZstd)/2], code: 400, says: []string{"zstd", "ends early"}},
		"no zstd":                {header: []string{"Content-Encoding", "zstd"}, wire: []byte("this is certainly no zstd"), code: 400, says: []string{"no valid zstd"}},
		"empty zstd":             {header: []string{"Content-Encoding", "zstd"}, code: 400, says: []string{"zstd"}},
		"zstd window too large":  {header: []string{"Content-Encoding", "zstd"}, wire: wideZstd, code: 400, says: []string{"window", "RFC 9659"}},
		"root":                   {method: http.MethodGet, path: "/", code: 404, json: true, says: metricsPaths},
		"other path":             {path: "/v2/metrics", wire: valid, code: 404, json: true, says: append([]string{`/v2/metrics`}, metricsPaths...)},
		"traces":                 {path: "/v1/traces", wire: valid, code: 404, json: true, says: []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "traces"}},
		"logs":                   {path: "/v1/logs", wire: valid, code: 404, json: true, says: []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "logs"}},
		"profiles":               {path: "/v1development/profiles", wire: valid, code: 404, json: true, says: []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "profiles"}},
		"remote write here":      {header: []string{"Content-Encoding", "snappy", "X-Prometheus-Remote-Write-Version", "0.1.0"}, wire: valid, code: 415, json: true, says: []string{"remote-write", "OTLP", "/api/v1/write"}},
		"remote write 2.0 here":  {contentType: "application/x-protobuf;proto=io.prometheus.write.v2.Request", wire: valid, code: 415, json: true, says: []string{"remote-write", "/api/v1/write"}},
		"snappy":                 {header: []string{"Content-Encoding", "snappy"}, wire: valid, code: 415, json: true, says: []string{"remote-write"}},
		"remote write's path":    {path: "/api/v1/write", wire: valid, code: 404, json: true, says: []string{"remote-write", "OTLP"}},
		"remote write elsewhere": {path: "/", header: []string{"X-Prometheus-Remote-Write-Version", "2.0.0"}, wire: valid, code: 404, json: true, says: []string{"remote-write"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &recorder{}
			g := start(t, Options{Pusher: p, Settings: Settings{HTTPMaxRequestSize: limit, MaxJSONSize: jsonLimit}})
			if tt.path == "" {
				tt.path = "/v1/metrics"
			}
			if tt.method == "" {
				tt.method = http.MethodPost
			}
			header := tt.header
			switch tt.contentType {
			case "":
				header = append(header, "Content-Type", protobufType)
			case "-":
			default:
				header = append(header, "Content-Type", tt.contentType)
			}
			a := g.send(tt.method, tt.path, bytes.NewReader(tt.wire), header...)
			require.Equal(t, tt.code, a.code, "%s", a.body)
			require.Equal(t, tt.json, a.header.Get("Content-Type") == jsonType)
			st := a.status(t)
			for _, s := range tt.says {
				require.Contains(t, st.Message, s)
			}
			require.NotZero(t, st.Code)
			require.Empty(t, a.header.Get("Retry-After"), "must not be retried")
			if tt.code == http.StatusMethodNotAllowed {
				require.Equal(t, http.MethodPost, a.header.Get("Allow"))
			}
			if tt.code == http.StatusBadRequest {
				require.Equal(t, codes.InvalidArgument, codes.Code(st.Code))
				violation := &errdetails.BadRequest{}
				require.NoError(t, st.Details[0].UnmarshalTo(violation))
				require.Equal(t, "body", violation.FieldViolations[0].Field)
			}
			require.Empty(t, p.got())
			require.Zero(t, g.gate.used.Load())
			require.Equal(t, 1.0, g.value("otlpgw_gateway_requests_total", "transport", "http", "code", fmt.Sprint(tt.code)))
		})
	}
}

// wideZstd is the start of a frame with a window of 16 MiB: magic, descriptor
// (nothing optional), exponent 14 (2^(10+14)), and an empty last block.
var wideZstd = []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x01, 0x00, 0x00}

func TestHTTPLimitsAreExact(t *testing.T) {
	const limit = 100_000
	exact, over := bytes.Repeat([]byte{'x'}, limit), bytes.Repeat([]byte{'x'}, limit+1)
	p := &recorder{}
	g := start(t, Options{Pusher: p, Settings: Settings{HTTPMaxRequestSize: limit}})
	for _, coding := range []string{"identity", "gzip", "zstd"} {
		pack := func(b []byte) []byte { return b }
		switch coding {
		case "gzip":
			pack = func(b []byte) []byte { return gzipOf(t, b) }
		case "zstd":
			pack = func(b []byte) []byte { return zstdOf(t, b) }
		}
		for _, known := range []bool{true, false} {
			send := func(b []byte) int {
				var r io.Reader = bytes.NewReader(pack(b))
				if !known {
					r = io.MultiReader(r)
				}
				return g.send(http.MethodPost, "/v1/metrics", r, "Content-Type", protobufType, "Content-Encoding", coding).code
			}
			require.Equal(t, 200, send(exact), "%s, length known: %v", coding, known)
			require.Equal(t, 413, send(over), "%s, length known: %v", coding, known)
		}
	}
	for _, b := range p.got() {
		require.Len(t, b, limit)
	}
}

// TestHTTPTooLargeIsHeard sends a body far over the limit with a client that,
// like many, looks for an answer only when it has sent everything.
func TestHTTPTooLargeIsHeard(t *testing.T) {
	g := start(t, Options{Settings: Settings{HTTPMaxRequestSize: 1 << 20}})
	for _, head := range []string{"Content-Length: 4194304", "Transfer-Encoding: chunked"} {
		conn, err := net.Dial("tcp", g.httpAddr)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n%s\r\n\r\n", head)
		require.NoError(t, err)
		chunk := bytes.Repeat([]byte{'x'}, 64<<10)
		for range 64 {
			if strings.HasPrefix(head, "Transfer") {
				_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(chunk), chunk)
			} else {
				_, err = conn.Write(chunk)
			}
			require.NoError(t, err)
		}
		if strings.HasPrefix(head, "Transfer") {
			_, err = io.WriteString(conn, "0\r\n\r\n")
			require.NoError(t, err)
		}
		answer := make([]byte, 12)
		_, err = io.ReadFull(conn, answer)
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 413", string(answer))
		conn.Close()
	}
}

func TestHTTPBodyThatEndsEarly(t *testing.T) {
	p := &recorder{}
	g := start(t, Options{Pusher: p})
	conn, err := net.Dial("tcp", g.httpAddr)
	require.NoError(t, err)
	_, err = io.WriteString(conn, "POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 10\r\n\r\nabc")
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "HTTP/1.1 400")
	conn.Close()
	require.Empty(t, p.got())
	require.Zero(t, g.gate.used.Load())
}

func TestHTTPClientThatGoesAway(t *testing.T) {
	gone := make(chan error, 1)
	b := newBarrier()
	p := &recorder{answer: func(ctx context.Context, r converter.Request) (converter.Report, error) {
		rep, err := b.hold(ctx, r)
		gone <- err
		return rep, err
	}}
	g := start(t, Options{Pusher: p})
	conn, err := net.Dial("tcp", g.httpAddr)
	require.NoError(t, err)
	_, err = io.WriteString(conn, "POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 3\r\n\r\nabc")
	require.NoError(t, err)
	<-b.entered
	conn.Close()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.NoError(t, g.Drain(context.Background()))
	require.Zero(t, g.gate.used.Load())
}

func TestOtherSignalsAreLoggedOnce(t *testing.T) {
	g := start(t, Options{})
	for range 3 {
		g.post("/v1/traces", nil, "Content-Type", protobufType)
		g.post("/v1/logs", nil, "Content-Type", protobufType)
	}
	require.Equal(t, 1, strings.Count(g.log.String(), "signal=traces"))
	require.Equal(t, 1, strings.Count(g.log.String(), "signal=logs"))
}
