package gateway

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// FuzzHTTP sends any body with any headers that decide how it is read. Whatever
// comes: an answer of the closed set, no more memory than the limits allow,
// and nothing held afterwards.
func FuzzHTTP(f *testing.F) {
	const limit = 64 << 10
	text := bytes.Repeat([]byte("otlp metrics "), 100)
	packed, packedZstd := gzipOf(f, text), zstdOf(f, text)
	f.Add(protobufType, "", text)
	f.Add(jsonType+"; charset=utf-8", "identity", []byte("{}"))
	f.Add(protobufType, "gzip", packed)
	f.Add(protobufType, "gzip", packed[:len(packed)-3])
	f.Add(protobufType, "gzip", append(bytes.Clone(packed), packed...))
	f.Add(protobufType, "zstd", packedZstd)
	f.Add(protobufType, "zstd", packedZstd[:len(packedZstd)-3])
	f.Add(protobufType, "zstd", wideZstd)
	f.Add(protobufType, "gzip", gzipOf(f, make([]byte, 2*limit)))
	f.Add(jsonType, "zstd", zstdOf(f, make([]byte, 2*limit)))
	f.Add("application/x-protobuf;proto=io.prometheus.write.v2.Request", "snappy", text)
	f.Add(";;;", "br", []byte(nil))

	p := &sizes{}
	g, err := New(Options{Pusher: p, Settings: Settings{HTTPMaxRequestSize: limit, MaxJSONSize: limit / 4}})
	if err != nil {
		f.Fatal(err)
	}
	h := g.Handler()
	f.Fuzz(func(t *testing.T, contentType, coding string, body []byte) {
		p.last = -1
		r := httptest.NewRequest(http.MethodPost, "/v1/metrics", bytes.NewReader(body))
		r.Header["Content-Type"] = []string{contentType}
		r.Header["Content-Encoding"] = []string{coding}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200:
			if p.last < 0 || p.last > limit {
				t.Errorf("pushed %d bytes", p.last)
			}
		case 400, 413, 415:
			if p.last >= 0 {
				t.Errorf("pushed and answered %d", w.Code)
			}
			reply{w.Code, w.Result().Header, w.Body.Bytes()}.status(t)
		default:
			t.Errorf("answered %d: %s", w.Code, w.Body)
		}
		if used := g.gate.used.Load(); used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
		if n := len(g.slots.free); n != 0 {
			t.Errorf("%d slots are still held", n)
		}
	})
}

// FuzzInflate checks the pooled inflaters against fresh ones: what a former
// body left behind must not show.
func FuzzInflate(f *testing.F) {
	text := bytes.Repeat([]byte("otlp metrics "), 100)
	for _, b := range [][]byte{text, gzipOf(f, text), zstdOf(f, text), gzipOf(f, text)[:40], zstdOf(f, text)[:20], wideZstd} {
		f.Add(b)
	}
	g, err := New(Options{Pusher: &recorder{}})
	if err != nil {
		f.Fatal(err)
	}
	max := limit{1 << 20, "test"}
	f.Fuzz(func(t *testing.T, packed []byte) {
		for _, c := range []compression{gzipped, zstandard} {
			want, wantErr := inflateFresh(c, packed, max.bytes)
			x := g.newExchange()
			if _, err := x.fill(&x.wire, bytes.NewReader(packed), 1, 0, 1<<30); err != nil {
				t.Fatal(err)
			}
			err := x.inflate(c, max)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s: %v, fresh: %v", c, err, wantErr)
			}
			if err == nil {
				var got []byte
				if x.body != nil {
					got = x.body.B
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%s: %d bytes, fresh: %d", c, len(got), len(want))
				}
			}
			x.done()
		}
	})
}

func inflateFresh(c compression, packed []byte, max int64) ([]byte, error) {
	if len(packed) == 0 {
		return nil, http.ErrBodyNotAllowed
	}
	var b bytes.Buffer
	var err error
	switch c {
	case gzipped:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			_, err = b.ReadFrom(http.MaxBytesReader(nil, r, max))
		}
	case zstandard:
		var r *zstd.Decoder
		if r, err = zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderMaxMemory(maxZstdWindow)); err == nil {
			_, err = b.ReadFrom(http.MaxBytesReader(nil, r.IOReadCloser(), max))
		}
	}
	return b.Bytes(), err
}
