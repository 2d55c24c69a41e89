package converter_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// FuzzPush sends any bytes twice through one pipeline, so that the second goes
// through the cache. Nothing panics, the backend's contract is kept, and both
// times have the same verdict and count of points. For the binary encoding the
// verdict and the count are those of pdata and protobuf. (JSON is held against
// its grammar where it is read, in package otlp.)
func FuzzPush(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, path := range paths {
		for _, s := range readGolden(f, path).steps {
			for i, e := range convertertest.Encodings(1) {
				body, err := e.Encode(s.request)
				require.NoError(f, err)
				f.Add(body, e.JSON, uint8(i))
			}
		}
	}
	for seed := range uint64(len(oracleSettings)) {
		f.Add(convertertest.Merge(convertertest.NewWorld(seed, 1000).Request(), seed), false, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte, json bool, which uint8) {
		b := newBench(t, readSettings(t, []byte(oracleSettings[int(which)%len(oracleSettings)])))
		cold, err := b.push(body, json)
		b.rec.AssertClean(t)
		warm, again := b.push(body, json)
		b.rec.AssertClean(t)
		require.Equal(t, err == nil, again == nil, "%v, then %v", err, again)
		require.Equal(t, cold.Points, warm.Points)
		for _, r := range []converter.Report{cold, warm} {
			require.LessOrEqual(t, r.Rejected, r.Points)
			require.LessOrEqual(t, len(r.Message), converter.MaxMessage)
			require.False(t, r.Rejected > 0 && r.Message == "", "rejected without a word")
		}
		var decode *converter.DecodeError
		if err != nil {
			require.True(t, errors.As(err, &decode), "%v", err)
			require.LessOrEqual(t, decode.Offset, len(body))
			require.Empty(t, b.rec.Samples(), "stored a part of what is no OTLP")
		}
		if !json {
			checkVerdict(t, body, cold, err)
		}
	})
}

// FuzzOracle invents the sender: any seed is a world whose requests must become
// what Prometheus's converter makes of them, but for the exceptions.
func FuzzOracle(f *testing.F) {
	for seed := range uint64(len(oracleSettings) + 4) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		compareWorld(t, seed, 4, readSettings(t, []byte(settingsOf(seed))), new(unexplained))
	})
}

// checkVerdict compares with pdata and with protobuf itself. Where those two
// differ (invalid UTF-8, the length of ids, huge field numbers) either verdict
// will do. Beyond that the converter refuses what nests deeper than it allows.
func checkVerdict(t *testing.T, body []byte, got converter.Report, err error) {
	t.Helper()
	collector := pmetricotlp.NewExportRequest()
	theirs := collector.UnmarshalProto(body)
	var plain colmetricspb.ExportMetricsServiceRequest
	protobuf := proto.Unmarshal(body, &plain)
	if (theirs == nil) != (protobuf == nil) || protobuf != nil && strings.Contains(protobuf.Error(), "UTF-8") {
		return
	}
	if err != nil && (strings.Contains(err.Error(), "nested deeper") || manyGroups(body)) {
		return
	}
	require.Equal(t, theirs == nil, err == nil, "pdata: %v, protobuf: %v, converter: %v", theirs, protobuf, err)
	if err == nil && !hasDeprecatedScopes(&plain) {
		require.Equal(t, collector.Metrics().DataPointCount(), got.Points)
	}
}

// manyGroups says that body may hold more nested groups, which OTLP does not
// have, than the converter steps over.
func manyGroups(body []byte) bool {
	starts := 0
	for _, c := range body {
		if c&7 == 3 {
			starts++
		}
	}
	return starts > 16
}

// hasDeprecatedScopes says that req uses field 1000 of ResourceMetrics, which
// OTLP 0.19 removed and pdata still counts.
func hasDeprecatedScopes(req *colmetricspb.ExportMetricsServiceRequest) bool {
	for _, r := range req.ResourceMetrics {
		if len(r.ProtoReflect().GetUnknown()) > 0 {
			return true
		}
	}
	return false
}
