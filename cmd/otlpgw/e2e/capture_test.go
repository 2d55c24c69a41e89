package e2e

import (
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/explain"
	"github.com/otlpgw/otlpgw/converter"
)

var renewCaptures = flag.Bool("capture", false, "renew the payloads in ../explain/testdata/captures; see the README there")

const captures = "../explain/testdata/captures"

// capturer takes one export request and keeps its body, as it is on the wire.
type capturer struct {
	http, grpc string // addresses
	bodies     chan []byte
}

func newCapturer(t *testing.T) *capturer {
	t.Helper()
	c := &capturer{bodies: make(chan []byte, 10)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		c.bodies <- body
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		if strings.Contains(r.Header.Get("Content-Type"), "json") {
			_, _ = io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(srv.Close)
	c.http = strings.TrimPrefix(srv.URL, "http://")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(grpc.ForceServerCodecV2(rawBytes{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		c.bodies <- message
		var empty []byte
		return stream.SendMsg(&empty)
	}))
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		require.NoError(t, <-served)
	})
	c.grpc = l.Addr().String()
	return c
}

// rawBytes is a codec that leaves messages as they are.
type rawBytes struct{}

func (rawBytes) Name() string { return "proto" }

func (rawBytes) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawBytes) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// captured are the payloads that are kept: one of each exporter of each SDK.
var captured = []struct {
	file string
	node bool
	send func(t *testing.T, c *capturer, instance string)
}{
	{"go-http.pb", false, func(t *testing.T, c *capturer, instance string) {
		e, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(c.http), otlpmetrichttp.WithInsecure())
		require.NoError(t, err)
		require.NoError(t, pushGo(t.Context(), e, instance))
	}},
	{"go-grpc.pb", false, func(t *testing.T, c *capturer, instance string) {
		e, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(c.grpc), otlpmetricgrpc.WithInsecure())
		require.NoError(t, err)
		require.NoError(t, pushGo(t.Context(), e, instance))
	}},
	{"node-proto.pb", true, func(t *testing.T, c *capturer, instance string) {
		pushNode(t, "proto", "http://"+c.http+"/v1/metrics", instance)
	}},
	{"node-json.json", true, func(t *testing.T, c *capturer, instance string) {
		pushNode(t, "json", "http://"+c.http+"/v1/metrics", instance)
	}},
	{"node-grpc.pb", true, func(t *testing.T, c *capturer, instance string) {
		pushNode(t, "grpc", "http://"+c.grpc, instance)
	}},
}

// The payloads that otlpgw explain is tested with are still what the SDKs send:
// they become the same series, but for the times and the sample of exemplars.
// With -capture they are replaced by what the SDKs send now.
func TestCapturesAreWhatSDKsSend(t *testing.T) {
	for _, x := range captured {
		t.Run(x.file, func(t *testing.T) {
			if x.node {
				needNode(t)
			}
			c := newCapturer(t)
			x.send(t, c, strings.TrimSuffix(x.file, filepath.Ext(x.file)))
			// SDKs export once more when they shut down.
			now := <-c.bodies
			file := filepath.Join(captures, x.file)
			if *renewCaptures {
				require.NoError(t, os.WriteFile(file, now, 0o644))
			}
			kept, err := os.ReadFile(file)
			require.NoError(t, err)
			if diff := cmp.Diff(explainTimeless(t, kept), explainTimeless(t, now)); diff != "" {
				t.Errorf("the SDK sends something else (-kept +now):\n%s", diff)
			}
		})
	}
}

var (
	times     = regexp.MustCompile(` @\d+( start=\d+)?`) // a start in the same millisecond is not printed
	exemplars = regexp.MustCompile(`(?m)^  # .*\n`)
)

// explainTimeless is what otlpgw explain says about a payload, to a clock that
// is ahead of all of them.
func explainTimeless(t *testing.T, payload []byte) string {
	t.Helper()
	p, err := explain.Open(payload, 1<<20)
	require.NoError(t, err)
	r, err := explain.Run(t.Context(), converter.Options{
		Now: func() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) },
	}, p)
	require.NoError(t, err)
	require.Zero(t, r.Report.Rejected, r.Report.Message)
	var out strings.Builder
	require.NoError(t, r.WriteText(&out))
	return exemplars.ReplaceAllString(times.ReplaceAllString(out.String(), " @TIME"), "")
}
