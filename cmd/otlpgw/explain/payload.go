package explain

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// Payload is the body of one export request.
type Payload struct {
	Body []byte
	// JSON says that Body is OTLP/JSON and not protobuf.
	JSON bool
}

// maxLayers is how many wrappings of a payload are taken off: a compressed file
// of a gRPC message that is compressed.
const maxLayers = 3

// maxWindow bounds what a zstd frame may ask to remember, in bytes; the gateway
// takes no more.
const maxWindow = 8 << 20

// Open finds out what raw is by looking at it: protobuf or JSON, within gzip,
// zstd or the frame of a gRPC message. At most limit bytes are inflated.
func Open(raw []byte, limit int64) (Payload, error) {
	for range maxLayers {
		inner, err := unwrap(raw, limit)
		if err != nil {
			return Payload{}, err
		}
		if inner == nil {
			break
		}
		raw = inner
	}
	return Payload{Body: raw, JSON: looksLikeJSON(raw)}, nil
}

// unwrap takes one wrapping off, or returns nil when there is none. No
// protobuf message starts as any of them does: 0x00 and 0x01 are no tags, and
// 0x1f and 0x28 are none that a request has.
func unwrap(raw []byte, limit int64) ([]byte, error) {
	const frame = 5
	switch {
	case bytes.HasPrefix(raw, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return inflate("gzip", r, limit)
	case bytes.HasPrefix(raw, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer r.Close()
		return inflate("zstd", r, limit)
	case len(raw) >= frame && raw[0] <= 1 && int64(binary.BigEndian.Uint32(raw[1:])) == int64(len(raw)-frame):
		return raw[frame:], nil
	}
	return nil, nil
}

func inflate(name string, r io.Reader, limit int64) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s, after %d inflated bytes: %w", name, len(out), err)
	case int64(len(out)) > limit:
		return nil, TooLarge(limit)
	}
	return out, nil
}

// TooLarge is the error for payloads of more than limit bytes.
func TooLarge(limit int64) error {
	return fmt.Errorf("the payload is larger than http.max_request_size and grpc.max_request_size allow (%d bytes)", limit)
}

// looksLikeJSON reports whether a body is meant to be JSON. A protobuf request
// starts with 0x0a, which is a line feed, and a length, which may be that of a
// brace: what is whole as either settles that.
func looksLikeJSON(b []byte) bool {
	text := bytes.TrimLeft(b, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	return len(text) == len(b) || json.Valid(b) || !framed(b)
}

// framed reports whether b is a sequence of whole protobuf fields.
func framed(b []byte) bool {
	for len(b) > 0 {
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}
