package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"testing"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/gateway"
)

// The stages of a request, each by itself, on one processor: what arrives is
// received (receive) and inflated (inflate), walked (walk), looked up and
// appended (BenchmarkConvert, which walks as well), encoded for a far end
// (BenchmarkEncode). BenchmarkHandler is all but the last.

// BenchmarkReceive is the gateway without conversion: admission, reading, the
// answer.
func BenchmarkReceive(b *testing.B) {
	for _, s := range Shapes {
		b.Run(s.Name, func(b *testing.B) { receive(b, s.New(0), "", s.New(0).Body) })
	}
}

// BenchmarkInflate is BenchmarkReceive for bodies compressed with gzip.
func BenchmarkInflate(b *testing.B) {
	for _, s := range Shapes {
		b.Run(s.Name, func(b *testing.B) {
			c := s.New(0)
			c.At(firstMs)
			receive(b, c, "gzip", gzipped(b, c.Body))
		})
	}
}

func receive(b *testing.B, c *Corpus, encoding string, wire []byte) {
	oneCore(b)
	taken := &sink{}
	g, err := gateway.New(gateway.Options{Pusher: taken, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	h, cl := g.Handler(), newClient(c)
	if encoding != "" {
		cl.request.Header.Set("Content-Encoding", encoding)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(c.Body)))
	for b.Loop() {
		cl.ready(wire)
		cl.post(b, h)
	}
	if want := b.N * len(c.Body); taken.bytes != want {
		b.Fatalf("%d bytes came through, want %d", taken.bytes, want)
	}
	b.ReportMetric(float64(b.N*c.Samples)/b.Elapsed().Seconds(), "samples/s")
}

// sink is a Pusher that does nothing.
type sink struct{ bytes int }

// Push counts the bytes.
func (s *sink) Push(_ context.Context, r converter.Request) (converter.Report, error) {
	s.bytes += len(r.Body)
	return converter.Report{}, nil
}

// gzipped compresses as SDKs do, at the default level.
func gzipped(tb testing.TB, body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// BenchmarkWalk reads every field of a request that conversion reads, and does
// nothing with it.
func BenchmarkWalk(b *testing.B) {
	for _, s := range append(Shapes[:len(Shapes):len(Shapes)], Variants...) {
		b.Run(s.Name, func(b *testing.B) {
			oneCore(b)
			c := s.New(0)
			body := c.At(firstMs)
			w := &walker{}
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := w.walk(body); err != nil {
					b.Fatal(err)
				}
			}
			if w.points != b.N*c.Points {
				b.Fatalf("%d points were walked, want %d", w.points, b.N*c.Points)
			}
			b.ReportMetric(float64(b.N*c.Samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
