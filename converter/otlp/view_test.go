package otlp

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// collector decodes a request with pdata.
func collector(body []byte) (pmetricotlp.ExportRequest, error) {
	req := pmetricotlp.NewExportRequest()
	return req, req.UnmarshalProto(body)
}

// sample is the request of the JSON tests: every type, every field.
func sample(t testing.TB) *colmetricspb.ExportMetricsServiceRequest {
	t.Helper()
	src, err := os.ReadFile("testdata/request.json")
	require.NoError(t, err)
	req := pmetricotlp.NewExportRequest()
	require.NoError(t, req.UnmarshalJSON(src))
	body, err := req.MarshalProto()
	require.NoError(t, err)
	msg := new(colmetricspb.ExportMetricsServiceRequest)
	require.NoError(t, proto.Unmarshal(body, msg))
	return msg
}

// Whatever a request holds and however it is written, the views say what
// pdata's messages say.
func TestViews(t *testing.T) {
	points := make(map[string]bool)
	check := func(seed uint64, msg *colmetricspb.ExportMetricsServiceRequest) {
		plain := convertertest.Ascending(msg)
		req, err := collector(plain)
		require.NoError(t, err)
		want := messages(req.Metrics())
		for _, e := range convertertest.Encodings(seed) {
			if e.JSON {
				continue
			}
			body, err := e.Encode(msg)
			require.NoError(t, err)
			got, w, fault := views(body)
			if fault != nil {
				t.Fatalf("seed %d, %s: %s", seed, e.Name, fault)
			}
			require.Equal(t, want, got, "seed %d, %s", seed, e.Name)
			require.Equal(t, req.Metrics().DataPointCount(), w.points)
		}
		for m := range eachMetric(msg) {
			points[pointKind(m)] = true
		}
	}
	check(0, sample(t))
	for seed := range uint64(200) {
		r := jsonRandom{rand.New(rand.NewPCG(seed, 8))}
		body, err := pmetricotlp.NewExportRequestFromMetrics(r.metrics()).MarshalProto()
		require.NoError(t, err)
		msg := new(colmetricspb.ExportMetricsServiceRequest)
		require.NoError(t, proto.Unmarshal(body, msg))
		check(seed, msg)
	}
	for seed := range uint64(50) {
		check(seed, convertertest.NewWorld(seed, 1000).Request())
	}
	require.Len(t, points, 6, "five types and none")
}

// Cut anywhere, a request is an error that says where, or it is whole to pdata
// too, because the cut lies between two fields of the outermost message.
func TestTorn(t *testing.T) {
	msg := sample(t)
	for _, e := range convertertest.Encodings(1) {
		if e.JSON {
			continue
		}
		body, err := e.Encode(msg)
		require.NoError(t, err)
		for cut := range body {
			body := body[:cut:cut]
			req, err := collector(body)
			got, _, fault := views(body)
			if fault == nil {
				require.NoError(t, err, "%s cut at %d", e.Name, cut)
				require.Equal(t, messages(req.Metrics()), got)
				continue
			}
			require.Error(t, err, "%s cut at %d: %s", e.Name, cut, fault)
			require.NotEmpty(t, fault.Message)
			require.NotEmpty(t, fault.Msg)
			at := fault.Offset(body)
			require.Less(t, at, cut)
			if at < 0 {
				require.Contains(t, []string{"split", "merge"}, e.Name, "only joined fields lie outside the body")
			}
		}
	}
}

// The offset of an error is where the broken field begins.
func TestErrorOffset(t *testing.T) {
	point := protowire.AppendTag(nil, 3, protowire.Fixed64Type)
	point = append(point, 1, 2, 3)
	body := nest(point, 1, 2, 2, 5, 1)
	_, _, err := views(body)
	require.NotNil(t, err)
	require.Equal(t, "NumberDataPoint", err.Message)
	require.Equal(t, "torn or malformed protobuf in NumberDataPoint", err.Error())
	require.Equal(t, len(body)-len(point), err.Offset(body))

	require.Equal(t, -1, err.Offset(nil))
	require.Equal(t, -1, err.Offset(make([]byte, len(body))), "another body")
	require.Equal(t, -1, err.Offset(body[:2]))
	require.Equal(t, -1, new(Error).Offset(body))
}

// nest puts content into the fields of these numbers, the outermost first.
func nest(content []byte, numbers ...protowire.Number) []byte {
	for i := len(numbers) - 1; i >= 0; i-- {
		content = protowire.AppendBytes(protowire.AppendTag(nil, numbers[i], protowire.BytesType), content)
	}
	return content
}
