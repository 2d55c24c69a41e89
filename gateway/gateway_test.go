package gateway

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"go.uber.org/goleak"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a Pusher that keeps copies of what it got and answers as told.
type recorder struct {
	mu     sync.Mutex
	bodies [][]byte
	json   []bool
	// answer, if set, is asked in place of plain success. It runs before
	// Converted is called.
	answer func(context.Context, converter.Request) (converter.Report, error)
}

func (p *recorder) Push(ctx context.Context, r converter.Request) (converter.Report, error) {
	p.mu.Lock()
	p.bodies = append(p.bodies, bytes.Clone(r.Body))
	p.json = append(p.json, r.JSON)
	answer := p.answer
	p.mu.Unlock()
	if answer != nil {
		return answer(ctx, r)
	}
	r.Converted()
	return converter.Report{}, nil
}

func (p *recorder) got() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bodies
}

// answering returns a Pusher that gives always the same answer.
func answering(r converter.Report, err error) *recorder {
	return &recorder{answer: func(_ context.Context, req converter.Request) (converter.Report, error) {
		req.Converted()
		return r, err
	}}
}

// barrier is a Pusher's answer that waits to be let go.
type barrier struct {
	entered chan struct{} // one for each request that waits
	open    chan struct{} // closed to let all go
}

func newBarrier() *barrier {
	return &barrier{entered: make(chan struct{}, 64), open: make(chan struct{})}
}

// hold waits; the slot is given back before, as if it were a slow Commit.
func (b *barrier) hold(ctx context.Context, r converter.Request) (converter.Report, error) {
	r.Converted()
	return b.holdSlot(ctx, r)
}

// holdSlot waits with the slot, as if it were a slow conversion.
func (b *barrier) holdSlot(ctx context.Context, r converter.Request) (converter.Report, error) {
	b.entered <- struct{}{}
	select {
	case <-b.open:
		r.Converted()
		return converter.Report{}, nil
	case <-ctx.Done():
		r.Converted()
		return converter.Report{}, ctx.Err()
	}
}

// logBuffer is a log that tests can read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a gateway on three real listeners.
type running struct {
	*Gateway
	t                        *testing.T
	httpAddr, grpcAddr, base string
	admin                    string
	log                      *logBuffer
	reg                      *prometheus.Registry
	client                   *http.Client
	conn                     *grpc.ClientConn
}

func start(t *testing.T, o Options) *running {
	t.Helper()
	r := &running{t: t, log: &logBuffer{}, reg: prometheus.NewPedanticRegistry()}
	if o.Pusher == nil {
		o.Pusher = &recorder{}
	}
	o.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	o.Registerer, o.Gatherer = r.reg, r.reg
	g, err := New(o)
	require.NoError(t, err)
	r.Gateway = g

	var wg sync.WaitGroup
	serve := func(run func(net.Listener) error) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		wg.Go(func() {
			if err := run(l); err != nil {
				t.Errorf("serving: %v", err)
			}
		})
		return l.Addr().String()
	}
	r.httpAddr, r.grpcAddr = serve(g.RunHTTP), serve(g.RunGRPC)
	r.base, r.admin = "http://"+r.httpAddr, "http://"+serve(g.RunAdmin)

	transport := &http.Transport{DisableCompression: true}
	r.client = &http.Client{Transport: transport}
	r.conn = r.dial()
	t.Cleanup(func() {
		_ = g.Close()
		wg.Wait()
		transport.CloseIdleConnections()
	})
	return r
}

func (r *running) dial(opts ...grpc.DialOption) *grpc.ClientConn {
	r.t.Helper()
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("passthrough:///"+r.grpcAddr, opts...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

// reply is an HTTP answer, read.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

// status decodes the body as google.rpc.Status in the encoding it claims.
func (a reply) status(t *testing.T) *statuspb.Status {
	t.Helper()
	st := &statuspb.Status{}
	switch ct := a.header.Get("Content-Type"); ct {
	case jsonType:
		require.NoError(t, protojson.Unmarshal(a.body, st), "%s", a.body)
	case protobufType:
		require.NoError(t, proto.Unmarshal(a.body, st), "%q", a.body)
	default:
		t.Fatalf("content-type %q of %q", ct, a.body)
	}
	return st
}

// response decodes the body as ExportMetricsServiceResponse.
func (a reply) response(t *testing.T) *colpb.ExportMetricsServiceResponse {
	t.Helper()
	m := &colpb.ExportMetricsServiceResponse{}
	switch ct := a.header.Get("Content-Type"); ct {
	case jsonType:
		require.NoError(t, protojson.Unmarshal(a.body, m), "%s", a.body)
	case protobufType:
		require.NoError(t, proto.Unmarshal(a.body, m), "%q", a.body)
	default:
		t.Fatalf("content-type %q of %q", ct, a.body)
	}
	return m
}

// post sends body to path with headers given in pairs.
func (r *running) post(path string, body []byte, header ...string) reply {
	r.t.Helper()
	return r.send(http.MethodPost, path, bytes.NewReader(body), header...)
}

func (r *running) send(method, path string, body io.Reader, header ...string) reply {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, body)
	require.NoError(r.t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return reply{resp.StatusCode, resp.Header, b}
}

func gzipOf(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		_, err := w.Write(p)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return b.Bytes()
}

func zstdOf(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		_, err = w.Write(p)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return b.Bytes()
}

// value returns the sum of a counter's or gauge's children whose labels hold
// all the pairs.
func (r *running) value(name string, labels ...string) float64 {
	r.t.Helper()
	families, err := r.reg.Gather()
	require.NoError(r.t, err)
	var sum float64
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	children:
		for _, m := range f.GetMetric() {
			for i := 0; i < len(labels); i += 2 {
				found := false
				for _, l := range m.GetLabel() {
					found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
				}
				if !found {
					continue children
				}
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}
