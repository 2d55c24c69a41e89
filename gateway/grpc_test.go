package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter"
)

// request returns an export request of about size bytes.
func request(size int) *colpb.ExportMetricsServiceRequest {
	return &colpb.ExportMetricsServiceRequest{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{
			Key:   "filler",
			Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.Repeat("filler ", size/7)}},
		}}},
	}}}
}

func TestGRPCAccepts(t *testing.T) {
	p := &recorder{}
	g := start(t, Options{Pusher: p})
	c := colpb.NewMetricsServiceClient(g.conn)
	n := 0
	for _, name := range []string{encoding.Identity, "gzip", "zstd"} {
		// Nothing, one frame, many frames, many windows.
		for _, size := range []int{0, 100, 200_000, 5_000_000} {
			m := request(size)
			if size == 0 {
				m = &colpb.ExportMetricsServiceRequest{}
			}
			r, err := c.Export(context.Background(), m, grpc.UseCompressor(name), grpc.MaxCallSendMsgSize(1<<30))
			require.NoError(t, err, "%s, %d bytes", name, size)
			require.Nil(t, r.PartialSuccess)
			n++
			require.Len(t, p.got(), n)
			got := &colpb.ExportMetricsServiceRequest{}
			require.NoError(t, proto.Unmarshal(p.got()[n-1], got))
			require.True(t, proto.Equal(m, got), "%s, %d bytes", name, size)
		}
	}
	require.Zero(t, g.gate.used.Load())
	require.Equal(t, float64(n), g.value("otlpgw_gateway_requests_total", "transport", "grpc", "encoding", "protobuf", "code", "OK"))
}

// bytesCodec sends bytes that need not be a message.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (bytesCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

func TestGRPCTooLarge(t *testing.T) {
	const limit = 1 << 20
	p := &recorder{}
	g := start(t, Options{Pusher: p, Settings: Settings{GRPCMaxRequestSize: limit}})
	exact := bytes.Repeat([]byte{'x'}, limit)
	for _, name := range []string{encoding.Identity, "gzip", "zstd"} {
		opts := []grpc.CallOption{grpc.UseCompressor(name), grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallSendMsgSize(1 << 30)}
		require.NoError(t, g.conn.Invoke(context.Background(), exportFullName, exact, nil, opts...), name)
		err := g.conn.Invoke(context.Background(), exportFullName, append(exact, 'x'), nil, opts...)
		st := status.Convert(err)
		require.Equal(t, codes.ResourceExhausted, st.Code(), "%s: %v", name, err)
		require.Contains(t, st.Message(), "larger than grpc.max-request-size (1 MiB)")
		require.Empty(t, st.Details(), "RetryInfo would make it retryable")
	}
	require.Len(t, p.got(), 3)
	require.Zero(t, g.gate.used.Load())
}

// h2c sends raw frames to the gRPC port.
type h2c struct {
	*running
	client *http.Client
}

func newH2C(t *testing.T, g *running) *h2c {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &h2c{g, &http.Client{Transport: tr}}
}

func (h *h2c) call(method, coding string, body io.Reader) (code, msg string) {
	h.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+h.grpcAddr+method, body)
	require.NoError(h.t, err)
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	if coding != "" {
		req.Header.Set("Grpc-Encoding", coding)
	}
	resp, err := h.client.Do(req)
	require.NoError(h.t, err)
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(h.t, err)
	for _, from := range []http.Header{resp.Trailer, resp.Header} {
		if c := from.Get("Grpc-Status"); c != "" {
			return c, from.Get("Grpc-Message")
		}
	}
	return "", ""
}

// frame is a length-prefixed message.
func frame(flag byte, msg []byte) []byte {
	b := append([]byte{flag}, binary.BigEndian.AppendUint32(nil, uint32(len(msg)))...)
	return append(b, msg...)
}

func TestGRPCRefuses(t *testing.T) {
	packed := gzipOf(t, bytes.Repeat([]byte("otlp"), 1000))
	tests := map[string]struct {
		method, coding string
		body           []byte
		code           codes.Code
		says           string
	}{
		"no message":          {code: codes.InvalidArgument, says: "ends before"},
		"torn header":         {body: []byte{0, 0, 0}, code: codes.InvalidArgument, says: "ends before"},
		"torn message":        {body: frame(0, []byte("otlp"))[:7], code: codes.InvalidArgument, says: "ends before"},
		"two messages":        {body: append(frame(0, []byte("otlp")), frame(0, nil)...), code: codes.InvalidArgument, says: "more than one"},
		"unknown flag":        {body: frame(7, []byte("otlp")), code: codes.InvalidArgument, says: "flag 7"},
		"compressed, no name": {body: frame(1, []byte("otlp")), code: codes.InvalidArgument, says: "grpc-encoding"},
		"compressed identity": {coding: "identity", body: frame(1, []byte("otlp")), code: codes.InvalidArgument, says: "grpc-encoding"},
		"unknown compression": {coding: "br", body: frame(1, []byte("otlp")), code: codes.Unimplemented, says: "br"},
		"corrupt gzip":        {coding: "gzip", body: frame(1, []byte("certainly no gzip data")), code: codes.InvalidArgument, says: "gzip"},
		"torn gzip":           {coding: "gzip", body: frame(1, packed[:20]), code: codes.InvalidArgument, says: "ends early"},
		"corrupt zstd":        {coding: "zstd", body: frame(1, []byte("certainly no zstd data")), code: codes.InvalidArgument, says: "zstd"},
		"wide zstd":           {coding: "zstd", body: frame(1, wideZstd), code: codes.InvalidArgument, says: "window"},
		"announced too large": {body: []byte{0, 0xff, 0xff, 0xff, 0xff}, code: codes.ResourceExhausted, says: "grpc.max-request-size"},
		"traces": {method: "/opentelemetry.proto.collector.trace.v1.TraceService/Export", body: frame(0, nil),
			code: codes.Unimplemented, says: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"},
		"logs": {method: "/opentelemetry.proto.collector.logs.v1.LogsService/Export", body: frame(0, nil),
			code: codes.Unimplemented, says: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"},
		"profiles": {method: "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", body: frame(0, nil),
			code: codes.Unimplemented, says: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"},
		"unknown service": {method: "/x.Y/Z", body: frame(0, nil), code: codes.Unimplemented, says: exportFullName},
		"unknown method":  {method: "/" + metricsService + "/Import", body: frame(0, nil), code: codes.Unimplemented, says: exportFullName},
		"large health check": {method: "/grpc.health.v1.Health/Check", coding: "gzip",
			body: frame(1, gzipOf(t, make([]byte, 1<<20))), code: codes.ResourceExhausted, says: "larger than max"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &recorder{}
			g := start(t, Options{Pusher: p})
			if tt.method == "" {
				tt.method = exportFullName
			}
			code, msg := newH2C(t, g).call(tt.method, tt.coding, bytes.NewReader(tt.body))
			require.Equal(t, status.New(tt.code, "").Code().String(), codeOf(t, code).String(), msg)
			require.Contains(t, msg, tt.says)
			require.Empty(t, p.got())
			require.Zero(t, g.gate.used.Load())
		})
	}
}

func codeOf(t *testing.T, number string) codes.Code {
	t.Helper()
	var c codes.Code
	require.NoError(t, c.UnmarshalJSON([]byte(number)))
	return c
}

// TestGRPCCompressionFlagOfMessage: a stream with an encoding may still send a
// message that is not compressed.
func TestGRPCCompressionFlagOfMessage(t *testing.T) {
	p := &recorder{}
	g := start(t, Options{Pusher: p})
	code, msg := newH2C(t, g).call(exportFullName, "gzip", bytes.NewReader(frame(0, []byte("otlp"))))
	require.Equal(t, "0", code, msg)
	require.Equal(t, [][]byte{[]byte("otlp")}, p.got())
}

// TestRawCodecServesExportAlone has exports and health checks on one
// connection: each needs another codec under one name.
func TestRawCodecServesExportAlone(t *testing.T) {
	g := start(t, Options{Pusher: answering(converter.Report{Points: 1, Rejected: 1, Message: "late"}, nil)})
	health := grpc_health_v1.NewHealthClient(g.conn)
	export := colpb.NewMetricsServiceClient(g.conn)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				r, err := export.Export(context.Background(), request(1000))
				if err != nil || r.PartialSuccess.GetRejectedDataPoints() != 1 {
					t.Errorf("export: %v, %v", r, err)
					return
				}
			}
		})
		wg.Go(func() {
			for _, name := range []string{encoding.Identity, "gzip", "zstd"} {
				for _, service := range []string{"", metricsService} {
					r, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: service}, grpc.UseCompressor(name))
					if err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
						t.Errorf("health of %q: %v, %v", service, r, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	_, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: "other"})
	require.Equal(t, codes.NotFound, status.Code(err))
	l, err := health.List(context.Background(), &grpc_health_v1.HealthListRequest{})
	require.NoError(t, err)
	require.Len(t, l.Statuses, 2)
}

func TestRawCodec(t *testing.T) {
	c := rawCodec{}
	require.Equal(t, "proto", c.Name())
	b, err := c.Marshal(newRawReply(&converter.Report{Rejected: 2, Message: "m"}))
	require.NoError(t, err)
	r := &colpb.ExportMetricsServiceResponse{}
	require.NoError(t, c.Unmarshal(b, r))
	require.EqualValues(t, 2, r.PartialSuccess.RejectedDataPoints)
	b, err = c.Marshal(newRawReply(&converter.Report{Points: 3}))
	require.NoError(t, err)
	require.Zero(t, b.Len())
	b, err = c.Marshal(r)
	require.NoError(t, err)
	require.NotZero(t, b.Len())
	_, err = c.Marshal("no message")
	require.Error(t, err)
}
