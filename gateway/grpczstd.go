package gateway

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // the other one that OTLP clients use
)

// gRPC answers in the compression of the request and refuses a request whose
// compression it does not know, so both have to be registered. Requests of
// Export are not inflated by them, see receiveGRPC.
func init() { encoding.RegisterCompressor(&zstdCompressor{}) }

// zstdCompressor is gRPC's "zstd". Replies are a few kilobytes, so both
// directions are made small: no goroutines and little memory.
type zstdCompressor struct{ writers, readers sync.Pool }

// Name returns the name in grpc-encoding.
func (*zstdCompressor) Name() string { return "zstd" }

// Compress returns a writer whose Close ends the frame.
func (c *zstdCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	if z, ok := c.writers.Get().(*zstdWriter); ok {
		z.Reset(w)
		return z, nil
	}
	e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(64<<10))
	if err != nil {
		return nil, err
	}
	return &zstdWriter{e, c}, nil
}

// Decompress returns a reader; gRPC bounds what it reads.
func (c *zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	if z, ok := c.readers.Get().(*zstdReader); ok {
		return z, z.Reset(r)
	}
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecodeBuffersBelow(0))
	if err != nil {
		return nil, err
	}
	return &zstdReader{d, c}, nil
}

type zstdWriter struct {
	*zstd.Encoder
	home *zstdCompressor
}

// Close ends the frame and takes the encoder home.
func (z *zstdWriter) Close() error {
	err := z.Encoder.Close()
	z.Reset(nil)
	z.home.writers.Put(z)
	return err
}

type zstdReader struct {
	*zstd.Decoder
	home *zstdCompressor
}

// Close takes the decoder home.
func (z *zstdReader) Close() error {
	err := z.Reset(nil)
	if err == nil {
		z.home.readers.Put(z)
	}
	return err
}
