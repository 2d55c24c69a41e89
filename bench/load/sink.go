package main

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// maxRaw bounds what a body may inflate to, in bytes.
const maxRaw = 256 << 20

// sink is the far end: it takes remote write 1.0 and 2.0, counts, and keeps
// nothing but the last request.
type sink struct {
	url    string
	server *http.Server
	zstd   *zstd.Decoder
	// delay is how long it waits before it answers, in nanoseconds.
	delay   atomic.Int64
	changed chan struct{} // holds one token if total has grown
	mu      sync.Mutex
	total   total
	header  http.Header // of the last request
	body    []byte
}

// total is what a sink has got.
type total struct {
	samples, info, requests int
	// wire and raw are bytes of bodies, as sent and inflated.
	wire, raw int
	// refused is what could not be read, and why.
	refused int
	reason  error
}

func newSink() (*sink, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw))
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{url: "http://" + l.Addr().String() + "/api/v1/write", zstd: z, changed: make(chan struct{}, 1)}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // It ends with close.
	return s, nil
}

func (s *sink) close() {
	_ = s.server.Close() // Nobody sends any more.
	s.zstd.Close()
}

var buffers = sync.Pool{New: func() any { return new([2][]byte) }}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := buffers.Get().(*[2][]byte)
	defer buffers.Put(b)
	var err error
	if b[0], err = readAll(b[0][:0], r.Body); err != nil {
		return // The sender went away.
	}
	c, err := s.count(b, r.Header)
	s.note(b[0], len(b[1]), r.Header, c, err)
	if d := s.delay.Load(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	const prefix = "X-Prometheus-Remote-Write-"
	if isV2(r.Header) {
		w.Header().Set(prefix+"Samples-Written", strconv.Itoa(c.samples+c.info-c.histograms))
		w.Header().Set(prefix+"Histograms-Written", strconv.Itoa(c.histograms))
		w.Header().Set(prefix+"Exemplars-Written", strconv.Itoa(c.exemplars))
	}
	w.WriteHeader(http.StatusNoContent)
}

func readAll(dst []byte, r io.Reader) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

func isV2(h http.Header) bool {
	return strings.Contains(h.Get("Content-Type"), "io.prometheus.write.v2.Request")
}

// count inflates b[0] into b[1] and counts it.
func (s *sink) count(b *[2][]byte, h http.Header) (c counted, err error) {
	if h.Get("Content-Encoding") == "zstd" {
		b[1], err = s.zstd.DecodeAll(b[0], b[1][:0])
	} else {
		b[1], err = snappy.Decode(b[1][:cap(b[1])], b[0])
	}
	if err != nil {
		return c, err
	}
	if isV2(h) {
		return countV2(b[1])
	}
	return countV1(b[1])
}

func (s *sink) note(body []byte, raw int, h http.Header, c counted, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.requests++
	s.total.wire += len(body)
	if err != nil {
		s.total.refused++
		s.total.reason = err
		return
	}
	s.total.raw += raw
	s.total.samples += c.samples
	s.total.info += c.info
	s.header, s.body = h, append(s.body[:0], body...)
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// got is what has arrived so far.
func (s *sink) got() total {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// last returns the header and the body of the last request.
func (s *sink) last() (http.Header, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.header), append([]byte(nil), s.body...)
}

// await returns once n samples have arrived, or after nothing has come for as
// long as patience.
func (s *sink) await(ctx context.Context, n int, patience time.Duration) error {
	for s.got().samples < n {
		select {
		case <-s.changed:
		case <-time.After(patience):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
