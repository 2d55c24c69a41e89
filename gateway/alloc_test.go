package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/pool"
)

// sizes is a Pusher that keeps the size of the last body.
type sizes struct{ last int }

func (p *sizes) Push(_ context.Context, r converter.Request) (converter.Report, error) {
	r.Converted()
	p.last = len(r.Body)
	return converter.Report{}, nil
}

// emptyWriter is an http.ResponseWriter that keeps nothing.
type emptyWriter struct{ h http.Header }

func (w *emptyWriter) Header() http.Header         { return w.h }
func (w *emptyWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *emptyWriter) WriteHeader(int)             {}

// warm returns a function that serves one request through the handler.
func warm(tb testing.TB, contentType, coding string, body []byte) func() {
	tb.Helper()
	g, err := New(Options{Pusher: &sizes{}})
	require.NoError(tb, err)
	h := g.Handler()
	src := bytes.NewReader(body)
	r, err := http.NewRequest(http.MethodPost, "/v1/metrics", nil)
	require.NoError(tb, err)
	r.Header.Set("Content-Type", contentType)
	if coding != "" {
		r.Header.Set("Content-Encoding", coding)
	}
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(src)
	w := &emptyWriter{h: make(http.Header)}
	return func() {
		src.Reset(body)
		h.ServeHTTP(w, r)
	}
}

// TestWarmRequestAllocatesNothing: what this room adds to a request that is
// accepted, behind net/http.
func TestWarmRequestAllocatesNothing(t *testing.T) {
	if pool.Poisoned {
		t.Skip("the race build drops what is put into pools")
	}
	text := bytes.Repeat([]byte("otlp metrics "), 5000)
	for name, serve := range map[string]func(){
		"protobuf":      warm(t, protobufType, "", text),
		"JSON":          warm(t, jsonType, "", text),
		"protobuf gzip": warm(t, protobufType, "gzip", gzipOf(t, text)),
		"protobuf zstd": warm(t, protobufType, "zstd", zstdOf(t, text)),
	} {
		serve()
		require.Zero(t, testing.AllocsPerRun(200, serve), name)
	}
}

func BenchmarkHandler(b *testing.B) {
	text := bytes.Repeat([]byte("otlp metrics "), 5000)
	for _, c := range []struct {
		name, coding string
		body         []byte
	}{{"identity", "", text}, {"gzip", "gzip", gzipOf(b, text)}, {"zstd", "zstd", zstdOf(b, text)}} {
		b.Run(c.name, func(b *testing.B) {
			serve := warm(b, protobufType, c.coding, c.body)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}
