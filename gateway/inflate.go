package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/otlpgw/otlpgw/pool"
)

// compression is how a body is packed on the wire.
type compression uint8

const (
	identity compression = iota
	gzipped
	zstandard
)

// acceptedCompressions is what answers list.
const acceptedCompressions = "gzip, zstd, identity"

// compressionOf returns the compression that a Content-Encoding or a
// grpc-encoding names. Names are lower
// case.
func compressionOf(name string) (compression, bool) {
	switch name {
	case "", "identity":
		return identity, true
	case "gzip", "x-gzip":
		return gzipped, true
	case "zstd":
		return zstandard, true
	}
	return identity, false
}

// String returns the compression as HTTP names it.
func (c compression) String() string {
	switch c {
	case gzipped:
		return "gzip"
	case zstandard:
		return "zstd"
	}
	return "identity"
}

// maxZstdWindow bounds the memory of a zstd decoder. RFC 9659 forbids larger
// windows in HTTP's zstd coding, and no encoder uses one by default.
const maxZstdWindow = 8 << 20

// inflater unpacks one body at a time, all of it in memory. It only lives
// while a conversion slot is held, so there are never more of them at work than
// slots.
type inflater struct {
	src  bytes.Reader
	gz   *gzip.Reader
	zstd *zstd.Decoder
}

// inflaters keeps idle ones. What one of them keeps is bounded by
// maxZstdWindow and the 64 KiB of deflate.
var inflaters = pool.New(
	func() *inflater { return new(inflater) },
	func(f *inflater) bool {
		f.src.Reset(nil)
		if f.zstd != nil {
			// Forgets the input and the current frame.
			if err := f.zstd.Reset(nil); err != nil {
				return false
			}
		}
		return true
	},
)

// open returns a reader of what packed holds. It is valid until the next open.
func (f *inflater) open(c compression, packed []byte) (io.Reader, error) {
	f.src.Reset(packed)
	if c != identity && len(packed) == 0 {
		return nil, corrupt(c, io.EOF)
	}
	switch c {
	case gzipped:
		if f.gz == nil {
			gz, err := gzip.NewReader(&f.src)
			if err != nil {
				return nil, corrupt(c, err)
			}
			f.gz = gz
			return gz, nil
		}
		if err := f.gz.Reset(&f.src); err != nil {
			return nil, corrupt(c, err)
		}
		return f.gz, nil
	case zstandard:
		if f.zstd == nil {
			// One goroutine, ours: a decoder that is dropped leaves nothing behind.
			d, err := zstd.NewReader(nil,
				zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxZstdWindow),
				zstd.WithDecoderMaxMemory(maxZstdWindow),
				zstd.WithDecodeBuffersBelow(0),
			)
			if err != nil {
				return nil, fmt.Errorf("making a zstd decoder: %w", err)
			}
			f.zstd = d
		}
		if err := f.zstd.Reset(&f.src); err != nil {
			return nil, corrupt(c, err)
		}
		return f.zstd, nil
	}
	return &f.src, nil
}

// corrupt is the answer to a body that cannot be unpacked.
func corrupt(c compression, err error) error {
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return &failure{outcomeBadData, fmt.Sprintf("body is zstd data with a window of more than %s, which RFC 9659 forbids; lower the compression level", sizeText(maxZstdWindow))}
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		return &failure{outcomeBadData, fmt.Sprintf("body is no complete %s data: it ends early", c)}
	}
	return &failure{outcomeBadData, fmt.Sprintf("body is no valid %s data: %v", c, err)}
}
