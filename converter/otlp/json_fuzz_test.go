package otlp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// FuzzJSON checks, for any bytes: what is accepted is JSON and becomes bounded
// protobuf that pdata decodes; when pdata's own JSON decoder accepts the
// document too, both mean the same; and JSON within the limits is accepted as
// an unknown field.
//
// Where pdata reads a document that both accept in another way, on purpose or
// by accident, jsonPdataDiffers lists it.
func FuzzJSON(f *testing.F) {
	for _, src := range jsonSeeds(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) { jsonCheck(t, src) })
}

// jsonSeeds is a corpus of whole documents.
func jsonSeeds(t testing.TB) (seeds [][]byte) {
	example, err := os.ReadFile("testdata/request.json")
	require.NoError(t, err)
	seeds = append(seeds, example)
	for _, doc := range []string{jsonInResource, jsonInMetric, jsonInPoint, jsonInHistogram, jsonInExpo, jsonInSummary, jsonInExemplar, jsonInAny} {
		for _, in := range []string{
			`{}`, `null`, `{"":1,"a":[{}]}`, `{"name":"\ud83d\ude00","unit":null}`, `{"asInt":"1e3"}`, `{"asDouble":"-Infinity","as_int":1}`, `{"sum":1,"min":0,"bucketCounts":["1",2]}`,
			`{"stringValue":"a","bytesValue":"AA=="}`, `{"arrayValue":{"values":[{"kvlistValue":{}}]}}`, `{"traceId":"","spanId":"0102030405060708"}`, `{"gauge":{},"sum":{"aggregationTemporality":1}}`,
		} {
			seeds = append(seeds, fmt.Appendf(nil, doc, in))
		}
	}
	for seed := range uint64(4) {
		r := jsonRandom{rand.New(rand.NewPCG(seed, 2))}
		src, err := pmetricotlp.NewExportRequestFromMetrics(r.metrics()).MarshalJSON()
		require.NoError(t, err)
		seeds = append(seeds, src)
	}
	return seeds
}

// jsonCheck reports whether there was a reading of pdata's to compare with.
func jsonCheck(t *testing.T, src []byte) (compared bool) {
	out, err := AppendJSON(nil, src)
	if err == nil {
		require.True(t, json.Valid(src), "accepted what is not JSON")
		require.True(t, utf8.Valid(src), "accepted what is not UTF-8")
		require.LessOrEqual(t, jsonDepth(src), MaxDepth)
		require.LessOrEqual(t, len(out), 4*len(src))
		got := jsonByPdata(t, out)
		pdata := pmetricotlp.NewExportRequest()
		if pdata.UnmarshalJSON(src) == nil && !jsonPdataDiffers(src) {
			want, err := pdata.MarshalProto()
			require.NoError(t, err)
			require.Equal(t, want, got)
			compared = true
		}
	}
	inside := append(append([]byte(`{"unknown":`), src...), '}')
	if _, err := AppendJSON(nil, inside); jsonDepth(inside) <= MaxDepth {
		require.Equal(t, json.Valid(inside) && utf8.Valid(inside), err == nil, "%v", err)
	} else {
		require.Error(t, err)
	}
	return compared
}

// jsonPdataDiffers reports whether src may hold what pdata reads otherwise:
//   - snake_case names, which pdata takes as well, and deprecatedScopeMetrics;
//   - null, which pdata takes for an empty member of a oneof;
//   - an empty name, behind which pdata stops reading the object;
//   - halves of surrogate pairs, of which pdata swallows what follows.
func jsonPdataDiffers(src []byte) bool {
	for _, s := range []string{"_", `\u005f`, `\u005F`, "deprecated", "null", `\ud`, `\uD`} {
		if bytes.Contains(src, []byte(s)) {
			return true
		}
	}
	return jsonEmptyName.Match(src)
}

var jsonEmptyName = regexp.MustCompile(`""\s*:`)

// TestJSONMutations is FuzzJSON for a while and always the same: random edits
// of the corpus that keep most documents valid.
func TestJSONMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tokens := []string{`{}`, `[]`, `null`, `true`, `0`, `-1`, `1.0`, `"1"`, `"x"`, `"NaN"`, `,`, `:`, `"`, `\`, `\u0031`, `{"a":1}`, `"key":"k",`, `"asInt":2,`, `"values":[{}],`, "\xff", ` `}
	compared := 0
	for _, seed := range jsonSeeds(t) {
		jsonCheck(t, seed)
		for range 100 {
			src := bytes.Clone(seed)
			for range 1 + r.IntN(3) {
				from := r.IntN(len(src))
				to := min(len(src), from+r.IntN(3))
				src = append(append(bytes.Clone(src[:from]), tokens[r.IntN(len(tokens))]...), src[to:]...)
			}
			if jsonCheck(t, src) {
				compared++
			}
		}
	}
	require.Greater(t, compared, 500, "edits that leave something to compare")
}
