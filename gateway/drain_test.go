package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func (r *running) adminPage(path string) (int, string) {
	r.t.Helper()
	resp, err := r.client.Get(r.admin + path)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp.StatusCode, string(b)
}

func TestDrain(t *testing.T) {
	b := newBarrier()
	p := &recorder{answer: b.hold}
	g := start(t, Options{Pusher: p})
	code, _ := g.adminPage("/-/ready")
	require.Equal(t, 200, code)
	watch, err := grpc_health_v1.NewHealthClient(g.conn).Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	h, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, h.Status)

	// A connection that will be late, and requests in flight on both transports.
	late, err := net.Dial("tcp", g.httpAddr)
	require.NoError(t, err)
	defer late.Close()
	lateReader := bufio.NewReader(late)
	const head = "POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
	_, err = io.WriteString(late, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(lateReader, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)

	var wg sync.WaitGroup
	wg.Go(func() {
		if a := g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType); a.code != 200 {
			t.Errorf("in flight: %d %s", a.code, a.body)
		}
	})
	wg.Go(func() {
		if _, err := colpb.NewMetricsServiceClient(g.conn).Export(context.Background(), request(10)); err != nil {
			t.Errorf("in flight: %v", err)
		}
	})
	<-b.entered
	<-b.entered

	drained := make(chan error, 1)
	go func() { drained <- g.Drain(context.Background()) }()
	h, err = watch.Recv()
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, h.Status)
	_, err = watch.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))

	code, body := g.adminPage("/-/ready")
	require.Equal(t, 503, code)
	require.Contains(t, body, "shutting down")
	code, _ = g.adminPage("/-/healthy")
	require.Equal(t, 200, code)

	// On the old connection: told to come back, and to come to another.
	_, err = io.WriteString(late, head+"{}")
	require.NoError(t, err)
	resp, err = http.ReadResponse(lateReader, nil)
	require.NoError(t, err)
	require.Equal(t, 503, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	require.True(t, resp.Close)
	resp.Body.Close()

	select {
	case err := <-drained:
		t.Fatalf("drained with requests in flight: %v", err)
	default:
	}
	close(b.open)
	require.NoError(t, <-drained)
	wg.Wait()
	require.Len(t, p.got(), 2)
	_, err = net.Dial("tcp", g.httpAddr)
	require.Error(t, err)
	_, err = net.Dial("tcp", g.grpcAddr)
	require.Error(t, err)
	require.NoError(t, g.Drain(context.Background()), "a second time does no harm")
}

// TestLateGRPC: a stream that reaches the handler after the drain began.
func TestLateGRPC(t *testing.T) {
	g := start(t, Options{})
	c := colpb.NewMetricsServiceClient(g.conn)
	_, err := c.Export(context.Background(), request(10))
	require.NoError(t, err)
	g.draining.Store(true)
	_, err = c.Export(context.Background(), request(10))
	st := status.Convert(err)
	require.Equal(t, codes.Unavailable, st.Code())
	require.Contains(t, st.Message(), "shutting down")
	wantDetails(t, st, "", -1)
	r, err := grpc_health_v1.NewHealthClient(g.conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, r.Status)
	g.draining.Store(false)
}

func TestDrainDeadline(t *testing.T) {
	b := newBarrier()
	g := start(t, Options{Pusher: &recorder{answer: b.hold}})
	var wg sync.WaitGroup
	wg.Go(func() {
		resp, err := http.Post(g.base+"/v1/metrics", protobufType, http.NoBody)
		if err == nil {
			resp.Body.Close()
		}
	})
	wg.Go(func() {
		if _, err := colpb.NewMetricsServiceClient(g.conn).Export(context.Background(), request(10)); err == nil {
			t.Error("answered without a reason")
		}
	})
	<-b.entered
	<-b.entered
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err := g.Drain(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "2 requests in flight were cut off")
	require.Zero(t, g.inFlight.n.Load(), "their contexts ended, and Drain has waited for them")
	wg.Wait()
	require.Zero(t, g.gate.used.Load())
}

// TestDrainBeforeServing: the order of the calls is the caller's.
func TestDrainBeforeServing(t *testing.T) {
	g, err := New(Options{Pusher: &recorder{}})
	require.NoError(t, err)
	require.NoError(t, g.Drain(context.Background()))
	for _, run := range []func(net.Listener) error{g.RunHTTP, g.RunGRPC} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, run(l))
		_, err = net.Dial("tcp", l.Addr().String())
		require.Error(t, err)
	}
	require.NoError(t, g.Close())
}
