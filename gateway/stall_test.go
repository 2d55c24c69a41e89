package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
)

// A body that stops arriving gives back what it holds, long before the time for
// a whole request is over, and the client is told to come back.
func TestABodyThatStallsIsGivenUp(t *testing.T) {
	g := start(t, Options{StallTimeout: 30 * time.Millisecond})
	c, err := net.Dial("tcp", g.httpAddr)
	require.NoError(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\nhalf", protobufType)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	require.Contains(t, string(body), "the body stopped arriving")
	require.Zero(t, g.gate.used.Load())

	pr, pw := io.Pipe()
	go func() { _, _ = pw.Write(frame(0, make([]byte, 100))[:50]) }()
	code, msg := newH2C(t, g).call(exportFullName, "", pr)
	require.Equal(t, "14", code)
	require.Equal(t, errStalled.Error(), msg)
	require.NoError(t, pw.Close())
	require.Zero(t, g.gate.used.Load())
}

// Once the body is there, the request may take longer than that.
func TestStallTimeoutEndsWithTheBody(t *testing.T) {
	b := newBarrier()
	const stall = 20 * time.Millisecond
	g := start(t, Options{Pusher: &recorder{answer: b.hold}, StallTimeout: stall})
	code := make(chan string, 2)
	go func() {
		r := g.post("/v1/metrics", []byte("x"), "Content-Type", protobufType)
		code <- fmt.Sprint(r.code)
	}()
	go func() {
		_, err := colpb.NewMetricsServiceClient(g.conn).Export(t.Context(), &colpb.ExportMetricsServiceRequest{})
		code <- fmt.Sprint(err)
	}()
	<-b.entered
	<-b.entered
	select {
	case c := <-code:
		require.Fail(t, "answered before the store did", c)
	case <-time.After(10 * stall):
	}
	close(b.open)
	require.ElementsMatch(t, []string{"200", "<nil>"}, []string{<-code, <-code})
}

// While memory is short, patience is too.
func TestStallTimeoutUnderPressure(t *testing.T) {
	g, err := New(Options{Pusher: &recorder{}, MaxInFlightBytes: 100, StallTimeout: 10 * time.Second})
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, g.stallTimeout())
	require.True(t, g.gate.grow(0, 80))
	require.Equal(t, 2*time.Second, g.stallTimeout())
	g.gate.shrink(80)
	require.Equal(t, 10*time.Second, g.stallTimeout())
}
