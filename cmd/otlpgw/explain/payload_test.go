package explain

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func framedMessage(compressed byte, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(b))), b...)
}

// A payload is what it is, however it is wrapped.
func TestOpen(t *testing.T) {
	// A resource of 100 bytes in all, so that the length is not a brace.
	plain := protowire.AppendBytes([]byte{0x0a}, make([]byte, 100))
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for name, raw := range map[string][]byte{
		"plain":               plain,
		"gzip":                gzipped(t, plain),
		"zstd":                enc.EncodeAll(plain, nil),
		"gRPC":                framedMessage(0, plain),
		"gRPC, compressed":    framedMessage(1, gzipped(t, plain)),
		"a compressed gRPC":   gzipped(t, framedMessage(1, gzipped(t, plain))),
		"compressed twice":    gzipped(t, gzipped(t, plain)),
		"gzip, zstd, outside": gzipped(t, enc.EncodeAll(plain, nil)),
	} {
		p, err := Open(raw, 1000)
		require.NoError(t, err, name)
		require.Equal(t, plain, p.Body, name)
		require.False(t, p.JSON, name)
	}
	p, err := Open(nil, 1000)
	require.NoError(t, err)
	require.Equal(t, Payload{}, p)
}

func TestOpenTellsJSONFromProtobuf(t *testing.T) {
	// A protobuf request whose first byte is a line feed and whose second is a
	// brace: 0x7b bytes of a resource.
	trap := protowire.AppendBytes([]byte{0x0a}, append([]byte("\n\x79"), bytes.Repeat([]byte("x"), 0x79)...))
	require.Equal(t, byte('{'), trap[1])
	for text, want := range map[string]bool{
		`{}`:                         true,
		"\n{\"resourceMetrics\":[]}": true,
		"\r\n{":                      true, // broken, and JSON
		"\n{\"resourceMetrics\"":     true,
		"{{":                         true,
		string(trap):                 false,
		"\x0a\x00":                   false,
		"":                           false,
		"[]":                         false,
	} {
		p, err := Open([]byte(text), 1000)
		require.NoError(t, err)
		require.Equal(t, want, p.JSON, "%q", text)
	}
}

func TestOpenIsBounded(t *testing.T) {
	bomb := gzipped(t, make([]byte, 1001))
	_, err := Open(bomb, 1000)
	require.ErrorContains(t, err, "larger than http.max_request_size and grpc.max_request_size allow (1000 bytes)")
	_, err = Open(gzipped(t, make([]byte, 1000)), 1000)
	require.NoError(t, err)

	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	_, err = Open(enc.EncodeAll(make([]byte, 1001), nil), 1000)
	require.ErrorContains(t, err, "larger than")

	torn := gzipped(t, []byte(strings.Repeat("a1", 300)))
	_, err = Open(torn[:len(torn)-9], 1000)
	require.ErrorContains(t, err, "gzip, after ")
	_, err = Open([]byte{0x1f, 0x8b, 0}, 1000)
	require.ErrorContains(t, err, "gzip: ")
}
