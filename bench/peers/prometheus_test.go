package peers

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/storage/remote"

	"github.com/otlpgw/otlpgw/bench"
)

// newPrometheus returns Prometheus's OTLP handler, which makes a target_info
// for each target.
func newPrometheus(shape bench.Shape, corpus *bench.Corpus) *party {
	cfg := config.DefaultConfig
	cfg.OTLPConfig.PromoteScopeMetadata = true
	backend := newMeter()
	handler := remote.NewOTLPWriteHandler(slog.New(slog.DiscardHandler), prometheus.NewRegistry(),
		backend, func() config.Config { return cfg }, remote.OTLPOptions{LookbackDelta: 5 * time.Minute})

	request := httptest.NewRequest(http.MethodPost, "/v1/metrics", nil)
	request.Header.Set("Content-Type", "application/x-protobuf")
	reader, answer := &bytes.Reader{}, &response{header: http.Header{}}
	push := func(body []byte) error {
		reader.Reset(body)
		request.Body, request.ContentLength = io.NopCloser(reader), int64(len(body))
		clear(answer.header)
		answer.code, answer.written = http.StatusOK, 0
		handler.ServeHTTP(answer, request)
		if answer.code != http.StatusOK || answer.written != 0 {
			return fmt.Errorf("answer %d with %d bytes: everything should be accepted", answer.code, answer.written)
		}
		return nil
	}
	return &party{
		name:    "prometheus",
		samples: corpus.Samples + shape.Targets,
		push:    push,
		count:   func(body []byte) (tally, error) { return backend.during(func() error { return push(body) }) },
	}
}

// response is an http.ResponseWriter that costs nothing.
type response struct {
	header        http.Header
	code, written int
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(code int) { r.code = code }

func (r *response) Write(b []byte) (int, error) {
	r.written += len(b)
	return len(b), nil
}
