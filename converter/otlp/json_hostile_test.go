package otlp

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/pool"
)

// TestJSONHostile measures what documents of 16 MiB cost that are all of one
// thing. The result is at most four times the document; what is allocated is
// the sum of dst's sizes while it grows by a quarter each time, five times the
// last one.
func TestJSONHostile(t *testing.T) {
	size := 16 << 20
	if pool.Poisoned { // the race detector makes every byte dear
		size = 1 << 20
	}
	fill := func(open, element, end string) []byte {
		n := (size - len(open) - len(end)) / len(element)
		return []byte(open + strings.TrimSuffix(strings.Repeat(element, n), ",") + end)
	}
	const (
		points    = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[`
		endPoints = `]}}]}]}]}`
		histogram = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"histogram":{"dataPoints":[{`
		endHisto  = `}]}}]}]}]}`
		any       = `{"resourceMetrics":[{"resource":{"attributes":[{"value":{`
		endAny    = `}}]}}]}`
	)
	for _, c := range []struct {
		name   string
		src    []byte
		fails  string
		copies int // of src, the most that may be allocated
	}{
		{"empty points", fill(points, `{},`, endPoints), "", 6},
		{"empty resources", fill(`{"resourceMetrics":[`, `{},`, `]}`), "", 6},
		{"zero bounds", fill(histogram+`"explicitBounds":[`, `0,`, `]`+endHisto), "", 24},
		{"zero values", fill(points, `{"asInt":0},`, endPoints), "", 8},
		{"unknown fields", fill(`{`, `"":[],`, `}`), "", 1},
		{"unknown array", fill(`{"a":[`, `{},`, `]}`), "", 1},
		{"escaped names", fill(points+`{`, `"\u0061":1,`, `}`+endPoints), "", 1},
		{"one long string", fill(any+`"stringValue":"`, `x`, `"`+endAny), "", 6},
		{"one escaped string", fill(any+`"stringValue":"`, `\n`, `"`+endAny), "", 6},
		{"one base64 string", fill(any+`"bytesValue":"`, `AAAA`, `"`+endAny), "", 10},
		{"one long unknown name", fill(`{"`, `x`, `":0}`), "", 1},
		{"one long escaped name", fill(`{"`, `\n`, `":0}`), "", 6},
		{"one long id", fill(points+`{"exemplars":[{"traceId":"`, `a`, `"}]}`+endPoints), "32 hex digits or none", 10},
		{"one long integer", fill(points+`{"asInt":`, `9`, `}`+endPoints), "out of range", 1},
		{"one long double", fill(points+`{"asDouble":`, `9`, `}`+endPoints), "too large", 2},
		{"one long fraction", fill(points+`{"asDouble":0.`, `9`, `}`+endPoints), "", 1},
		{"one long exponent", fill(points+`{"asInt":1e`, `9`, `}`+endPoints), "out of range", 1},
		{"one long string of a number", fill(points+`{"asInt":"\u0031`, `0`, `"}`+endPoints), "out of range", 10},
		{"nested arrays", fill(`{"a":`, `[`, ``), "nested more than 64", 1},
		{"nested objects", fill(``, `{"a":`, ``), "nested more than 64", 1},
		{"nested values", fill(any, `"arrayValue":{"values":[{`, ``), "nested more than 64", 1},
		{"spaces", fill(`{`, ` `, `}`), "", 1},
		{"commas", fill(points, `,`, ``), "expected an object", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := AppendJSON(nil, c.src)
			runtime.ReadMemStats(&after)
			require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(c.copies*len(c.src)))
			require.LessOrEqual(t, len(out), 4*len(c.src))
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				require.Less(t, len(err.Error()), 2000)
				return
			}
			require.NoError(t, err)
		})
	}
}

// TestJSONDeepAndLong closes frames of a length that grows on every level, the
// worst that minimal lengths cost.
func TestJSONDeepAndLong(t *testing.T) {
	var src bytes.Buffer
	src.WriteString(`{"resourceMetrics":[{"resource":{"attributes":[{"value":{`)
	const levels = (MaxDepth - 7) / 3
	text := strings.Repeat("x", 1<<16)
	for range levels {
		src.WriteString(`"arrayValue":{"values":[{"stringValue":"` + text + `"},{`)
	}
	src.WriteString(strings.Repeat(`}]}`, levels) + `}}]}}]}`)
	out, err := AppendJSON(nil, src.Bytes())
	require.NoError(t, err)
	got := &collectormetrics.ExportMetricsServiceRequest{}
	require.NoError(t, proto.Unmarshal(out, got))
	require.Equal(t, proto.Size(got), len(out))
	v := got.ResourceMetrics[0].Resource.Attributes[0].Value
	for range levels {
		values := v.GetArrayValue().Values
		require.Len(t, values, 2)
		require.Equal(t, text, values[0].GetStringValue())
		v = values[1]
	}
}
