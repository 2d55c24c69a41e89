package otlp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// FuzzRequest walks any bytes to the bottom. Nothing panics, no more children
// come out than there are bytes, errors lie in the body, and what the bytes mean
// is what they mean to pdata and to protobuf itself.
func FuzzRequest(f *testing.F) {
	for _, e := range convertertest.Encodings(1) {
		if e.JSON {
			continue
		}
		body, err := e.Encode(sample(f))
		require.NoError(f, err)
		f.Add(body)
	}
	for _, p := range places {
		fields := p.message.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			f.Add(nest([]byte{byte(fields.Get(i).Number())<<3 | 2, 0}, p.path...))
		}
	}
	f.Add(nest(group(9, group(9, nil)), 1))
	f.Add(nest([]byte{0x30, 0xee}, 1, 1, 3))
	f.Fuzz(checkRequest)
}

func checkRequest(t *testing.T, body []byte) {
	got, w, err := views(body)
	require.LessOrEqual(t, w.steps, len(body))
	if err != nil {
		require.Less(t, err.Offset(body), len(body))
		require.NotEmpty(t, err.Message)
	}

	req, theirs := collector(body)
	plain := new(colmetricspb.ExportMetricsServiceRequest)
	protobuf := proto.Unmarshal(body, plain)
	if differs(body, plain, theirs, protobuf, err) {
		return
	}
	if (theirs == nil) != (err == nil) {
		t.Fatalf("pdata: %v, protobuf: %v, here: %v", theirs, protobuf, err)
	}
	if err != nil {
		return
	}
	// Whether lists in chunks are joined, and a oneof that comes twice is
	// merged, is one thing to pdata and another to protobuf: what they agree on
	// is what counts.
	want := messages(req.Metrics())
	merged, reencoded := collector(convertertest.Ascending(plain))
	require.NoError(t, reencoded)
	if want == messages(merged.Metrics()) {
		require.Equal(t, want, got)
		require.Equal(t, req.Metrics().DataPointCount(), w.points)
	}
}

// differs lists what may have another verdict here than with pdata and
// protobuf.
func differs(body []byte, plain *colmetricspb.ExportMetricsServiceRequest, theirs, protobuf error, err *Error) bool {
	switch {
	case (theirs == nil) != (protobuf == nil):
		// The two do not agree themselves. Only pdata minds the length of ids and
		// the wire type of known fields, only protobuf minds UTF-8, field numbers
		// beyond 2^29 and what stands inside a group.
		return true
	case err != nil && strings.Contains(err.Msg, "nested deeper"):
		return true // pdata goes to 100 levels of messages, protobuf to 10 000.
	case err != nil && theirs == nil && manyGroups(body):
		return true
	}
	// Field 1000 of ResourceMetrics was removed in OTLP 0.19; pdata reads it.
	for _, r := range plain.ResourceMetrics {
		if len(r.ProtoReflect().GetUnknown()) > 0 {
			return true
		}
	}
	return false
}

// manyGroups says that body may hold more nested groups, which OTLP does not
// have, than are stepped over.
func manyGroups(body []byte) bool {
	starts := 0
	for _, c := range body {
		if c&7 == wireStart {
			starts++
		}
	}
	return starts > maxGroupDepth
}
