package gateway

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/pool"
)

func TestGate(t *testing.T) {
	g := &gate{max: 100}
	require.True(t, g.grow(0, 60))
	require.False(t, g.grow(0, 41), "somebody else holds 60")
	require.True(t, g.grow(0, 40))
	require.True(t, g.full())
	require.False(t, g.grow(60, 1))
	g.shrink(40)
	require.True(t, g.grow(60, 1000), "alone, a request is always admitted")
	g.shrink(1060)
	require.Zero(t, g.used.Load())
}

// TestGateNeverExceeds: however many race, those who are not alone stay within
// the limit.
func TestGateNeverExceeds(t *testing.T) {
	const limit = 1000
	g := &gate{max: limit}
	require.True(t, g.grow(0, 1)) // Nobody else is alone.
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sum, most int64
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				n := rand.Int64N(300)
				if !g.grow(0, n) {
					continue
				}
				mu.Lock()
				sum += n
				most = max(most, sum)
				mu.Unlock()
				mu.Lock()
				sum -= n
				mu.Unlock()
				g.shrink(n)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most, int64(limit-1))
	require.Equal(t, int64(1), g.used.Load())
}

func TestSlots(t *testing.T) {
	s := newSlots(1, time.Hour)
	require.NoError(t, s.acquire(context.Background()))
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, s.acquire(gone), context.Canceled)

	got := make(chan error)
	go func() { got <- s.acquire(context.Background()) }()
	s.release()
	require.NoError(t, <-got, "a slot that comes back goes to who waits")

	s.wait = time.Nanosecond
	err := s.acquire(context.Background())
	require.Equal(t, outcomeBusy, answerFor(err).outcome)
	require.ErrorContains(t, err, "none of its 1 conversion slots")
}

// wantBusy checks that a request on either transport is told to come back.
func wantBusy(t *testing.T, g *running, says string) {
	t.Helper()
	a := g.post("/v1/metrics", bytes.Repeat([]byte{'x'}, 20_000), "Content-Type", jsonType)
	require.Equal(t, http.StatusServiceUnavailable, a.code)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Contains(t, a.status(t).Message, says)
	_, err := colpb.NewMetricsServiceClient(g.conn).Export(context.Background(), request(20_000))
	st := status.Convert(err)
	require.Equal(t, codes.Unavailable, st.Code(), "%v", err)
	require.Contains(t, st.Message(), says)
	require.Len(t, st.Details(), 1)
	require.IsType(t, &errdetails.RetryInfo{}, st.Details()[0])
}

func TestBytesInFlight(t *testing.T) {
	b := newBarrier()
	p := &recorder{answer: b.hold}
	g := start(t, Options{Pusher: p, MaxInFlightBytes: 100_000, JSONWeight: 1})
	var wg sync.WaitGroup
	wg.Go(func() {
		// More than the limit, and alone.
		a := g.post("/v1/metrics", bytes.Repeat([]byte{'x'}, 150_000), "Content-Type", protobufType)
		if a.code != 200 {
			t.Errorf("%d: %s", a.code, a.body)
		}
	})
	<-b.entered
	require.GreaterOrEqual(t, g.gate.used.Load(), int64(150_000), "held until the answer")
	require.Equal(t, float64(g.gate.used.Load()), g.value("otlpgw_gateway_in_flight_bytes"))
	wantBusy(t, g, "hold all of the 100000 bytes")
	require.Len(t, p.got(), 1)
	require.Equal(t, 2.0, g.value("otlpgw_gateway_refusals_total", "reason", "bytes"))
	close(b.open)
	wg.Wait()
	require.Zero(t, g.gate.used.Load())
	require.Equal(t, 200, g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType).code)
}

func TestJSONWeighsMore(t *testing.T) {
	b := newBarrier()
	g := start(t, Options{Pusher: &recorder{answer: b.hold}, JSONWeight: 10})
	var wg sync.WaitGroup
	for _, body := range [][]byte{bytes.Repeat([]byte{'x'}, 50_000), gzipOf(t, bytes.Repeat([]byte{'x'}, 50_000))} {
		coding := "identity"
		if len(body) < 50_000 {
			coding = "gzip"
		}
		wg.Go(func() {
			g.post("/v1/metrics", body, "Content-Type", jsonType, "Content-Encoding", coding)
		})
		<-b.entered
	}
	used := g.gate.used.Load()
	require.GreaterOrEqual(t, used, int64(2*500_000))
	require.Less(t, used, int64(2*600_000))
	close(b.open)
	wg.Wait()
	require.Zero(t, g.gate.used.Load())
}

// TestBombsAreStoppedByTheGate: with somebody else in flight, a body that
// inflates to more than is left is refused before it has.
func TestBombsAreStoppedByTheGate(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 32<<20)
	bombs := map[string][]byte{"gzip": gzipOf(t, zeros), "zstd": zstdOf(t, zeros)}
	b := newBarrier()
	p := &recorder{answer: b.hold}
	g := start(t, Options{Pusher: p, MaxInFlightBytes: limit})
	var wg sync.WaitGroup
	wg.Go(func() { g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType) })
	<-b.entered
	for name, bomb := range bombs {
		a := g.post("/v1/metrics", bomb, "Content-Type", protobufType, "Content-Encoding", name)
		require.Equal(t, http.StatusServiceUnavailable, a.code, name)
		code, msg := newH2C(t, g).call(exportFullName, name, bytes.NewReader(frame(1, bomb)))
		require.Equal(t, "14", code, msg)
	}
	require.Len(t, p.got(), 1)
	close(b.open)
	wg.Wait()
	require.Zero(t, g.gate.used.Load())
}

// zeros is an endless reader that counts.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) { z.read += len(p); return len(p), nil }

// TestFillReadsNoMoreThanItMust: what is read of a body without end is bounded
// by the limit and not by the sender.
func TestFillReadsNoMoreThanItMust(t *testing.T) {
	g, err := New(Options{Pusher: &recorder{}})
	require.NoError(t, err)
	for _, limit := range []int64{1, 5000, 1 << 20, 5 << 20} {
		x := g.newExchange()
		z := &zeros{}
		var b *pool.Buffer
		tooLong, err := x.fill(&b, z, min(firstBuffer, limit+1), 0, limit)
		require.NoError(t, err)
		require.True(t, tooLong)
		require.LessOrEqual(t, z.read, int(max(4<<10, 2*limit)))
		require.Equal(t, int64(cap(b.B)), x.held, "all of it is paid for")
		b.Release()
	}
}

func TestConversionSlots(t *testing.T) {
	b := newBarrier()
	p := &recorder{answer: b.holdSlot}
	g := start(t, Options{Pusher: p, ConversionSlots: 1, SlotWait: time.Millisecond})
	var wg sync.WaitGroup
	wg.Go(func() { g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType) })
	<-b.entered
	wantBusy(t, g, "conversion slots")
	require.Equal(t, 2.0, g.value("otlpgw_gateway_refusals_total", "reason", "slots"))
	close(b.open)
	wg.Wait()
	require.Equal(t, 200, g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType).code)
}

// TestCommitHoldsNoSlot: many requests wait for a far end and one slot is
// enough for all.
func TestCommitHoldsNoSlot(t *testing.T) {
	b := newBarrier()
	g := start(t, Options{Pusher: &recorder{answer: b.hold}, ConversionSlots: 1, SlotWait: time.Hour})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType) })
		wg.Go(func() {
			if _, err := colpb.NewMetricsServiceClient(g.conn).Export(context.Background(), request(10)); err != nil {
				t.Error(err)
			}
		})
	}
	for range 8 {
		<-b.entered
	}
	require.Equal(t, 8.0, g.value("otlpgw_gateway_in_flight_requests"))
	close(b.open)
	wg.Wait()
}

// TestSlowBodiesHoldNoSlot: with one slot, others are served while bodies are
// on their way.
func TestSlowBodiesHoldNoSlot(t *testing.T) {
	p := &recorder{}
	g := start(t, Options{Pusher: p, ConversionSlots: 1, SlotWait: time.Hour})
	packed := gzipOf(t, bytes.Repeat([]byte("otlp"), 100))
	slowGRPC, grpcBody := io.Pipe()
	slowHTTP, httpBody := io.Pipe()
	h := newH2C(t, g)
	var wg sync.WaitGroup
	wg.Go(func() {
		if code, msg := h.call(exportFullName, "gzip", slowGRPC); code != "0" {
			t.Errorf("%s: %s", code, msg)
		}
	})
	wg.Go(func() {
		a := g.send(http.MethodPost, "/v1/metrics", slowHTTP, "Content-Type", protobufType, "Content-Encoding", "gzip")
		if a.code != 200 {
			t.Errorf("%d: %s", a.code, a.body)
		}
	})
	whole := frame(1, packed)
	_, err := grpcBody.Write(whole[:10])
	require.NoError(t, err)
	_, err = httpBody.Write(packed[:10])
	require.NoError(t, err)
	require.Equal(t, 200, g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType).code)
	_, err = colpb.NewMetricsServiceClient(g.conn).Export(context.Background(), request(10))
	require.NoError(t, err)
	require.Len(t, p.got(), 2)

	_, err = grpcBody.Write(whole[10:])
	require.NoError(t, err)
	grpcBody.Close()
	_, err = httpBody.Write(packed[10:])
	require.NoError(t, err)
	httpBody.Close()
	wg.Wait()
	require.Len(t, p.got(), 4)
}

// TestBodiesThatDoNotCome are ended by the request timeout, with an answer.
func TestBodiesThatDoNotCome(t *testing.T) {
	g := start(t, Options{RequestTimeout: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", g.httpAddr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "HTTP/1.1 503")
	require.Contains(t, string(answer), "Retry-After")
	require.Contains(t, string(answer), "did not arrive within 50ms")

	r, w := io.Pipe()
	defer w.Close()
	go w.Write(frame(0, []byte("otlp"))[:7])
	code, msg := newH2C(t, g).call(exportFullName, "", r)
	require.Equal(t, "14", code, msg)
	require.Contains(t, msg, "did not arrive in time")
	require.NoError(t, g.Drain(context.Background()))
	require.Zero(t, g.gate.used.Load())
}

// TestAnnouncedIsNotHeld: what a sender announces and does not send is not
// taken from others.
func TestAnnouncedIsNotHeld(t *testing.T) {
	g := start(t, Options{})
	conn, err := net.Dial("tcp", g.httpAddr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 60000000\r\n\r\nx")
	require.NoError(t, err)
	r, w := io.Pipe()
	h := newH2C(t, g)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.call(exportFullName, "", r)
	}()
	_, err = w.Write([]byte{0, 3, 0, 0, 0, 'x'})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return g.value("otlpgw_gateway_in_flight_requests") == 2 }, 10*time.Second, time.Millisecond)
	require.LessOrEqual(t, g.gate.used.Load(), int64(2*2*firstBuffer))
	w.Close()
	<-done
}

// TestManyRequestsLeaveNothingBehind has both transports and all ways of
// ending at once.
func TestManyRequestsLeaveNothingBehind(t *testing.T) {
	p := &recorder{answer: func(_ context.Context, r converter.Request) (converter.Report, error) {
		if len(r.Body) > 0 && r.Body[0] == 'p' {
			panic("p")
		}
		r.Converted()
		return converter.Report{}, nil
	}}
	g := start(t, Options{Pusher: p, MaxInFlightBytes: 300_000, ConversionSlots: 2})
	bodies := [][]byte{[]byte("x"), []byte("panic"), bytes.Repeat([]byte{'x'}, 100_000), []byte("{")}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 60 {
				b := bodies[i%len(bodies)]
				switch i % 3 {
				case 0:
					g.post("/v1/metrics", b, "Content-Type", jsonType)
				case 1:
					g.post("/v1/metrics", gzipOf(t, b), "Content-Type", protobufType, "Content-Encoding", "gzip")
				case 2:
					_ = g.conn.Invoke(context.Background(), exportFullName, b, nil,
						grpc.ForceCodecV2(bytesCodec{}), grpc.UseCompressor([]string{encoding.Identity, "gzip", "zstd"}[i/3%3]))
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, g.Drain(context.Background()))
	require.Zero(t, g.gate.used.Load())
	require.Empty(t, g.slots.free)
	require.Zero(t, g.value("otlpgw_gateway_in_flight_requests"))
	require.NotZero(t, g.value("otlpgw_gateway_panics_total"))
	require.Contains(t, g.log.String(), "panic")
}
