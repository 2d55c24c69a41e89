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

// inflater unpacks one body at a time, all of it in memory. It only works
// while a conversion slot is held, so there are never more of them at work than
// slots. It is an io.Reader of what it unpacks.
type inflater struct {
	src  bytes.Reader
	c    compression
	from io.Reader // gz, zstd or src
	gz   *gzip.Reader
	zstd *zstd.Decoder
}

// inflaters keeps idle ones. What one of them keeps is bounded by
// maxZstdWindow and the 32 KiB of deflate.
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

// open makes f the reader of what packed holds. Packed must not change until
// the last Read.
func (f *inflater) open(c compression, packed []byte) error {
	f.c = c
	f.src.Reset(packed)
	if c != identity && len(packed) == 0 {
		return corrupt(c, io.EOF)
	}
	switch c {
	case identity:
		f.from = &f.src
	case gzipped:
		if f.gz == nil {
			f.gz = new(gzip.Reader)
		}
		if err := f.gz.Reset(&f.src); err != nil {
			return corrupt(c, err)
		}
		f.from = f.gz
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
				return fmt.Errorf("making a zstd decoder: %w", err)
			}
			f.zstd = d
		}
		if err := f.zstd.Reset(&f.src); err != nil {
			return corrupt(c, err)
		}
		f.from = f.zstd
	}
	return nil
}

// Read reads unpacked bytes. Its errors, other than io.EOF, are answers.
func (f *inflater) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if err != nil && err != io.EOF {
		err = corrupt(f.c, err)
	}
	return n, err
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
