package otlp

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/pool"
)

func TestJSONFaults(t *testing.T) {
	long := strings.Repeat("n", 100)
	for _, c := range []struct {
		name string
		json string // surroundings
		in   string // with ¦ where the fault lies
		want string // message in path
	}{
		// Documents.
		{"nothing", "%s", `¦`, `expected an object, found the end in `},
		{"only whitespace", "%s", " \n¦", `expected an object, found the end in `},
		{"null", "%s", `¦null`, `expected an object, found null in `},
		{"an array", "%s", `¦[]`, `expected an object, found an array in `},
		{"a byte order mark", "%s", "¦\ufeff{}", `expected an object, found '\ufeff' in `},
		{"protobuf", "%s", "\n¦\x00", `expected an object, found '\x00' in `},
		{"a second document", "%s", `{} ¦{}`, `data after the end of the document in `},
		{"garbage behind", "%s", `{}¦x`, `data after the end of the document in `},
		{"a NUL behind", "%s", "{}¦\x00", `data after the end of the document in `},
		{"open end", "%s", `{"resourceMetrics":[¦`, `expected an object, found the end in resourceMetrics[0]`},

		// Grammar.
		{"no comma", jsonInPoint, `{"asInt":1 ¦"flags":1}`, `expected "," or "}", found a string in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0]`},
		{"a comma too many", "%s", `{"a":1,¦}`, `expected a field's name, found '}' in `},
		{"a comma too many in an array", "%s", `{"resourceMetrics":[{},¦]}`, `expected an object, found ']' in resourceMetrics[1]`},
		{"the wrong bracket", "%s", `{"resourceMetrics":[¦}`, `expected an object, found '}' in resourceMetrics[0]`},
		{"no colon", "%s", `{"a" ¦1}`, `expected ":", found a number in `},
		{"no value", "%s", `{"a":¦}`, `expected a value, found '}' in a`},
		{"a name without quotes", "%s", `{¦a:1}`, `expected a field's name, found 'a' in `},
		{"single quotes", "%s", `{¦'a':1}`, `expected a field's name, found '\'' in `},
		{"a comment", "%s", `{¦/**/}`, `expected a field's name, found '/' in `},
		{"a torn literal", "%s", `{"a":¦nul}`, `expected a value, found 'n' in a`},
		{"another literal", "%s", `{"a":¦True}`, `expected a value, found 'T' in a`},
		{"a longer literal", "%s", `{"a":null¦x}`, `expected "," or "}", found 'x' in `},
		{"unknown fields are checked: array", "%s", `{"a":[1,¦]}`, `expected a value, found ']' in a`},
		{"unknown fields are checked: object", "%s", `{"a":{"b":1,¦}}`, `expected a field's name, found '}' in a`},
		{"unknown fields are checked: number", "%s", `{"a":¦01}`, `expected a value, found '0' in a`},
		{"unknown fields are checked: string", "%s", `{"a":["¦\x"]}`, `invalid escape sequence in a`},
		{"unknown fields are checked: UTF-8", "%s", "{\"a\":\"x¦\xff\"}", `string that is not UTF-8 in a`},
		{"a long unknown name", "%s", `{"` + long + `":¦x}`, `expected a value, found 'x' in ` + long[:64] + `…`},
		{"a long unknown name is not cut within a rune", "%s", `{"` + long[:63] + `äää":¦x}`, `expected a value, found 'x' in ` + long[:63] + `…`},

		// Strings.
		{"a control character", jsonInMetric, "{\"name\":\"a¦\nb\"}", `control character in a string in resourceMetrics[0].scopeMetrics[0].metrics[0].name`},
		{"a control character in a name", "%s", "{\"a¦\x00\":1}", `control character in a string in `},
		{"no end", "%s", `{"a":"b¦`, `string without end in a`},
		{"an escaped end", "%s", `{"a":"b\"¦`, `string without end in a`},
		{"an unknown escape", jsonInMetric, `{"name":"¦\u12g4"}`, `invalid escape sequence in resourceMetrics[0].scopeMetrics[0].metrics[0].name`},
		{"a torn escape", "%s", `{"a":"¦\u12`, `invalid escape sequence in a`},
		{"an encoded surrogate", jsonInResource, "{\"attributes\":[{\"key\":\"¦\xed\xa0\x80\"}]}", `string that is not UTF-8 in resourceMetrics[0].resource.attributes[0].key`},

		// Fields.
		{"a field given twice", jsonInPoint, `{"asInt":1,"flags":2,¦"asInt":1}`, `field given twice in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].asInt`},
		{"an array given twice", "%s", `{"resourceMetrics":[],¦"\u0072esourceMetrics":[]}`, `field given twice in resourceMetrics`},
		{"null in an array", "%s", `{"resourceMetrics":[{},¦null]}`, `expected an object, found null in resourceMetrics[1]`},
		{"null in an array of numbers", jsonInHistogram, `{"bucketCounts":[1,¦null]}`, `expected an unsigned 64-bit integer, found null in resourceMetrics[0].scopeMetrics[0].metrics[0].histogram.dataPoints[0].bucketCounts[1]`},
		{"an object for an array", "%s", `{"resourceMetrics":¦{}}`, `expected an array, found an object in resourceMetrics`},
		{"an array for an object", jsonInResource, `¦[]`, `expected an object, found an array in resourceMetrics[0].resource`},
		{"a number for a string", jsonInMetric, `{"name":¦1}`, `expected a string, found a number in resourceMetrics[0].scopeMetrics[0].metrics[0].name`},
		{"a boolean for a number", jsonInPoint, `{"asInt":¦true}`, `expected a 64-bit integer, found a boolean in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].asInt`},
		{"a string for a boolean", jsonInAny, `{"boolValue":¦"true"}`, `expected true or false, found a string in resourceMetrics[0].resource.attributes[0].value.boolValue`},
		{"an enum by name", jsonInMetric, `{"sum":{"aggregationTemporality":¦"AGGREGATION_TEMPORALITY_DELTA"}}`, `enum given by name: OTLP/JSON takes the number only in resourceMetrics[0].scopeMetrics[0].metrics[0].sum.aggregationTemporality`},
		{"an enum in quotes", jsonInMetric, `{"sum":{"aggregationTemporality":¦"2"}}`, `enum given by name: OTLP/JSON takes the number only in resourceMetrics[0].scopeMetrics[0].metrics[0].sum.aggregationTemporality`},
		{"a number's text", jsonInPoint, `{"asDouble":¦"nan"}`, `expected a number, found the string "nan" in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].asDouble`},

		// Ids and bytes.
		{"a short id", jsonInExemplar, `{"spanId":¦"abcd"}`, `id of 4 characters: 16 hex digits or none are valid in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].exemplars[0].spanId`},
		{"half a byte", jsonInExemplar, `{"traceId":¦"5b8efff798038103d269b633813fc60"}`, `id of 31 characters: 32 hex digits or none are valid in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].exemplars[0].traceId`},
		{"a base64 id", jsonInExemplar, `{"traceId":¦"W47/95gDgQPSabYzgT/GDA=="}`, `id of 24 characters: 32 hex digits or none are valid in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].exemplars[0].traceId`},
		{"an id of other letters", jsonInExemplar, `{"spanId":¦"eee19b7ec3c1b17g"}`, `id that is not hexadecimal in resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].exemplars[0].spanId`},
		{"one digit", jsonInAny, `{"bytesValue":¦"A"}`, `bytes that are not base64 in resourceMetrics[0].resource.attributes[0].value.bytesValue`},
		{"another character", jsonInAny, `{"bytesValue":¦"AA*A"}`, `bytes that are not base64 in resourceMetrics[0].resource.attributes[0].value.bytesValue`},
		{"a line break", jsonInAny, `{"bytesValue":¦"AAAA\n"}`, `bytes that are not base64 in resourceMetrics[0].resource.attributes[0].value.bytesValue`},
		{"too little padding", jsonInAny, `{"bytesValue":¦"AA="}`, `bytes that are not base64 in resourceMetrics[0].resource.attributes[0].value.bytesValue`},
		{"too much padding", jsonInAny, `{"bytesValue":¦"A==="}`, `bytes that are not base64 in resourceMetrics[0].resource.attributes[0].value.bytesValue`},
		{"padding alone", jsonInAny, `{"bytesValue":¦"===="}`, `bytes that are not base64 in resourceMetrics[0].resource.attributes[0].value.bytesValue`},
		{"padding inside", jsonInAny, `{"bytesValue":¦"AA==AA=="}`, `bytes that are not base64 in resourceMetrics[0].resource.attributes[0].value.bytesValue`},
	} {
		t.Run(c.name, func(t *testing.T) {
			marked := fmt.Sprintf(c.json, c.in)
			src := strings.Replace(marked, "¦", "", 1)
			out, err := AppendJSON([]byte("kept"), []byte(src))
			assert.Equal(t, "kept", string(out))
			var fault *JSONError
			require.ErrorAs(t, err, &fault)
			assert.Equal(t, marked, src[:fault.Offset]+"¦"+src[fault.Offset:])
			assert.Equal(t, c.want, fault.Msg+" in "+fault.Path)
		})
	}
}

func TestJSONErrorText(t *testing.T) {
	_, err := AppendJSON(nil, []byte(`{"resourceMetrics":[{},{"schemaUrl":5}]}`))
	require.EqualError(t, err, "expected a string, found a number at byte 36 in resourceMetrics[1].schemaUrl")
	_, err = AppendJSON(nil, []byte(`{} {}`))
	require.EqualError(t, err, "data after the end of the document at byte 3")
}

// TestJSONDepth nests as deep as is allowed and one level deeper, through every
// kind of field that can nest.
func TestJSONDepth(t *testing.T) {
	nest := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, c := range []struct {
		name    string
		deepest func(levels int) string // a document of that many levels
	}{
		{"unknown arrays", func(n int) string { return `{"a":` + nest(`[`, ``, `]`, n-1) + `}` }},
		{"unknown objects", func(n int) string { return nest(`{"a":`, `1`, `}`, n) }},
		{"unknown, deep inside", func(n int) string {
			return fmt.Sprintf(jsonInPoint, `{"a":`+nest(`[`, `1`, `]`, n-10)+`}`)
		}},
		{"attribute arrays", func(n int) string {
			// A value lies 7 levels deep, an array takes three more.
			pad := (n - 7) % 3
			inner := `"a":` + nest(`[`, ``, `]`, pad)
			if pad == 0 {
				inner = ``
			}
			return fmt.Sprintf(jsonInAny, nest(`{"arrayValue":{"values":[`, `{`+inner+`}`, `]}}`, (n-7)/3))
		}},
		{"attribute maps", func(n int) string {
			// {"kvlistValue":{"values":[{"value": takes four.
			pad := (n - 7) % 4
			inner := `"a":` + nest(`[`, ``, `]`, pad)
			if pad == 0 {
				inner = ``
			}
			return fmt.Sprintf(jsonInAny, nest(`{"kvlistValue":{"values":[{"value":`, `{`+inner+`}`, `}]}}`, (n-7)/4))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{10, 63, 64} {
				if n == 10 && c.name == "unknown, deep inside" {
					continue
				}
				src := c.deepest(n)
				require.Equal(t, n, jsonDepth([]byte(src)), src)
				out, err := AppendJSON(nil, []byte(src))
				require.NoError(t, err, src)
				jsonByPdata(t, out)
			}
			for _, n := range []int{65, 66, 67, 68, 1000} {
				src := c.deepest(n)
				require.Equal(t, n, jsonDepth([]byte(src)), src)
				_, err := AppendJSON(nil, []byte(src))
				require.ErrorContains(t, err, "objects and arrays nested more than 64 levels deep")
			}
		})
	}
}

// jsonDepth returns how deep a document nests.
func jsonDepth(src []byte) int {
	depth, deepest := 0, 0
	for i, quoted := 0, false; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// TestJSONTorn cuts a document at every byte and puts another byte in place of
// every byte, or of some of them where the race detector makes that slow.
func TestJSONTorn(t *testing.T) {
	src, err := os.ReadFile("testdata/request.json")
	require.NoError(t, err)
	src = []byte(strings.TrimSpace(string(src)))
	var dst []byte
	for i := range src {
		dst, err = AppendJSON(dst[:0], src[:i:i])
		require.Error(t, err, "cut at %d", i)
		var fault *JSONError
		require.ErrorAs(t, err, &fault)
		require.LessOrEqual(t, fault.Offset, i)
	}
	step := 1
	if pool.Poisoned {
		step = 7
	}
	for i := 0; i < len(src); i += step {
		kept := src[i]
		for _, c := range []byte("\x00 \"\\,:[]{}0-.eEnt\x80\xff") {
			src[i] = c
			if dst, err = AppendJSON(dst[:0], src); err == nil {
				jsonByPdata(t, dst)
			}
		}
		src[i] = kept
	}
}
