package convertertest_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// start is when the worlds of these tests begin, in ms after the epoch.
const start = 1_700_000_000_000

// text returns what pdata understands of body, in a form that can be compared.
func text(t *testing.T, body []byte, json bool) string {
	t.Helper()
	req := pmetricotlp.NewExportRequest()
	if json {
		require.NoError(t, req.UnmarshalJSON(body))
	} else {
		require.NoError(t, req.UnmarshalProto(body))
	}
	b, err := req.MarshalProto()
	require.NoError(t, err)
	m := new(colmetricspb.ExportMetricsServiceRequest)
	require.NoError(t, proto.Unmarshal(b, m))
	return prototext.MarshalOptions{Multiline: true}.Format(m)
}

// Every encoding of a request means the same to the Collector.
func TestEncodingsAgree(t *testing.T) {
	for seed := range uint64(40) {
		w := convertertest.NewWorld(seed, start)
		for range 3 {
			req := w.Request()
			want := text(t, convertertest.Ascending(req), false)
			require.Equal(t, want, text(t, convertertest.Descending(req), false), "descending, seed %d", seed)
			require.Equal(t, want, text(t, convertertest.Split(req, seed), false), "split, seed %d", seed)
			b, err := convertertest.Collector(req)
			require.NoError(t, err)
			require.Equal(t, want, text(t, b, false), "collector, seed %d", seed)
			b, err = convertertest.JSON(req)
			require.NoError(t, err)
			require.Equal(t, want, text(t, b, true), "json, seed %d", seed)
		}
	}
}

// All binary encodings mean the same to protobuf itself, which merges as the
// encoding's specification says.
func TestEncodingsDecode(t *testing.T) {
	for seed := range uint64(40) {
		req := convertertest.NewWorld(seed, start).Request()
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
		require.NoError(t, err)
		for _, e := range convertertest.Encodings(seed) {
			if e.JSON || e.Name == "collector" {
				continue // Both write empty messages where there were none.
			}
			b, err := e.Encode(req)
			require.NoError(t, err)
			got := new(colmetricspb.ExportMetricsServiceRequest)
			require.NoError(t, proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, got), "%s, seed %d", e.Name, seed)
			again, err := proto.MarshalOptions{Deterministic: true}.Marshal(got)
			require.NoError(t, err)
			require.Equal(t, want, again, "%s, seed %d", e.Name, seed)
		}
	}
}

// The unordered encodings are what they claim: different bytes for different
// seeds, the same bytes for the same seed.
func TestEncodingsDiffer(t *testing.T) {
	req := convertertest.NewWorld(1, start).Request()
	asc, desc := convertertest.Ascending(req), convertertest.Descending(req)
	require.NotEmpty(t, asc)
	require.Len(t, desc, len(asc))
	require.False(t, bytes.Equal(asc, desc))
	for _, encode := range []func(proto.Message, uint64) []byte{convertertest.Split, convertertest.Merge} {
		first := encode(req, 1)
		require.Equal(t, first, encode(req, 1), "one seed, one encoding")
		require.NotEqual(t, encode(req, 1), encode(req, 2))
	}
}
