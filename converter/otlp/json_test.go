package otlp

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Surroundings for a fragment, as JSON and as protobuf text.
const (
	jsonInResource  = `{"resourceMetrics":[{"resource":%s}]}`
	textInResource  = `resource_metrics{resource{%s}}`
	jsonInMetric    = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[%s]}]}]}`
	textInMetric    = `resource_metrics{scope_metrics{metrics{%s}}}`
	jsonInPoint     = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[%s]}}]}]}]}`
	textInPoint     = `resource_metrics{scope_metrics{metrics{gauge{data_points{%s}}}}}`
	jsonInHistogram = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"histogram":{"dataPoints":[%s]}}]}]}]}`
	textInHistogram = `resource_metrics{scope_metrics{metrics{histogram{data_points{%s}}}}}`
	jsonInExpo      = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"exponentialHistogram":{"dataPoints":[%s]}}]}]}]}`
	textInExpo      = `resource_metrics{scope_metrics{metrics{exponential_histogram{data_points{%s}}}}}`
	jsonInSummary   = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"summary":{"dataPoints":[%s]}}]}]}]}`
	textInSummary   = `resource_metrics{scope_metrics{metrics{summary{data_points{%s}}}}}`
	jsonInExemplar  = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{"exemplars":[%s]}]}}]}]}]}`
	textInExemplar  = `resource_metrics{scope_metrics{metrics{gauge{data_points{exemplars{%s}}}}}}`
	jsonInAny       = `{"resourceMetrics":[{"resource":{"attributes":[{"value":%s}]}}]}`
	textInAny       = `resource_metrics{resource{attributes{value{%s}}}}`
)

func TestJSONValues(t *testing.T) {
	for _, c := range []struct {
		name       string
		json, text string // surroundings
		in, want   string
	}{
		// Documents.
		{"an empty request", "%s", "%s", `{}`, ``},
		{"whitespace everywhere", "%s", "%s", " \t\r\n{ \"resourceMetrics\" : [ { } , { } ] } \n", `resource_metrics{} resource_metrics{}`},
		{"an empty array is an absent field", "%s", "%s", `{"resourceMetrics":[]}`, ``},

		// Names.
		{"schema URLs", "%s", "%s",
			`{"resourceMetrics":[{"schemaUrl":"r","scopeMetrics":[{"schemaUrl":"s"}]}]}`,
			`resource_metrics{schema_url:"r" scope_metrics{schema_url:"s"}}`},
		{"snake_case is unknown", jsonInPoint, textInPoint, `{"as_int":1,"time_unix_nano":2,"asInt":3}`, `as_int:3`},
		{"another case is unknown", jsonInPoint, textInPoint, `{"AsInt":1}`, ``},
		{"an escaped name is the name", jsonInPoint, textInPoint, `{"\u0061sInt":1}`, `as_int:1`},
		{"an empty name is unknown", jsonInPoint, textInPoint, `{"":1,"asInt":2}`, `as_int:2`},
		{"unknown fields of every type", jsonInPoint, textInPoint,
			`{"a":null,"b":true,"c":false,"d":-1.5e-3,"e":"x\u00e4","f":[],"g":{},"h":[1,[2],{"i":[3]}],"asInt":1}`, `as_int:1`},
		{"unknown fields may repeat", jsonInPoint, textInPoint, `{"a":1,"a":2}`, ``},
		{"fields in any order", jsonInPoint, textInPoint,
			`{"flags":1,"asDouble":2,"timeUnixNano":3,"startTimeUnixNano":4,"attributes":[{"value":{"intValue":1},"key":"k"}]}`,
			`attributes{key:"k" value{int_value:1}} start_time_unix_nano:4 time_unix_nano:3 as_double:2 flags:1`},

		// Null.
		{"null is absent", jsonInMetric, textInMetric,
			`{"name":null,"gauge":null,"metadata":null,"sum":{"dataPoints":null,"isMonotonic":null,"aggregationTemporality":null}}`, `sum{}`},
		{"null does not unset a oneof", jsonInPoint, textInPoint, `{"asInt":1,"asDouble":null}`, `as_int:1`},
		{"null does not count as the field", jsonInPoint, textInPoint, `{"asInt":null,"asInt":1,"asInt":null}`, `as_int:1`},
		{"a null attribute value", jsonInResource, textInResource, `{"attributes":[{"key":"k","value":null}]}`, `attributes{key:"k"}`},

		// Presence.
		{"zero in a oneof is a value", jsonInPoint, textInPoint, `{"asInt":"0"}`, `as_int:0`},
		{"zero double in a oneof", jsonInPoint, textInPoint, `{"asDouble":0}`, `as_double:0`},
		{"zero in optional fields", jsonInHistogram, textInHistogram, `{"sum":0,"min":0,"max":0}`, `sum:0 min:0 max:0`},
		{"absent optional fields", jsonInHistogram, textInHistogram, `{"count":"1"}`, `count:1`},
		{"an empty data kind", jsonInMetric, textInMetric, `{"name":"m","summary":{}}`, `name:"m" summary{}`},
		{"an empty message", "%s", "%s", `{"resourceMetrics":[{"resource":{}}]}`, `resource_metrics{resource{}}`},
		{"last of a oneof", jsonInPoint, textInPoint, `{"asInt":1,"asDouble":2}`, `as_double:2`},
		{"last kind of metric", jsonInMetric, textInMetric, `{"sum":{},"gauge":{}}`, `gauge{}`},

		// Metric kinds.
		{"a sum", jsonInMetric, textInMetric,
			`{"name":"n","description":"d","unit":"u","metadata":[{"key":"k"}],"sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{}]}}`,
			`name:"n" description:"d" unit:"u" metadata{key:"k"} sum{aggregation_temporality:AGGREGATION_TEMPORALITY_CUMULATIVE is_monotonic:true data_points{}}`},
		{"an enum of tomorrow", jsonInMetric, textInMetric, `{"histogram":{"aggregationTemporality":99}}`, `histogram{aggregation_temporality:99}`},
		{"a negative enum", jsonInMetric, textInMetric, `{"histogram":{"aggregationTemporality":-1}}`, `histogram{aggregation_temporality:-1}`},
		{"an enum of zero", jsonInMetric, textInMetric, `{"histogram":{"aggregationTemporality":0}}`, `histogram{}`},
		{"a histogram point", jsonInHistogram, textInHistogram,
			`{"attributes":[{"key":"k"}],"startTimeUnixNano":"1","timeUnixNano":"2","count":"3","sum":4.5,"bucketCounts":["1",2,"0"],"explicitBounds":[1,"2.5"],"exemplars":[{}],"flags":1,"min":-1,"max":9}`,
			`attributes{key:"k"} start_time_unix_nano:1 time_unix_nano:2 count:3 sum:4.5 bucket_counts:[1,2,0] explicit_bounds:[1,2.5] exemplars{} flags:1 min:-1 max:9`},
		{"an exponential histogram point", jsonInExpo, textInExpo,
			`{"attributes":[{"key":"k"}],"startTimeUnixNano":"1","timeUnixNano":"2","count":"3","sum":4.5,"scale":-3,"zeroCount":"7","positive":{"offset":-2,"bucketCounts":["300","0"]},"negative":{"offset":2147483647},"flags":1,"exemplars":[{}],"min":-1,"max":9,"zeroThreshold":0.25}`,
			`attributes{key:"k"} start_time_unix_nano:1 time_unix_nano:2 count:3 sum:4.5 scale:-3 zero_count:7 positive{offset:-2 bucket_counts:[300,0]} negative{offset:2147483647} flags:1 exemplars{} min:-1 max:9 zero_threshold:0.25`},
		{"a summary point", jsonInSummary, textInSummary,
			`{"attributes":[{"key":"k"}],"startTimeUnixNano":"1","timeUnixNano":"2","count":"3","sum":4.5,"quantileValues":[{"quantile":0,"value":1},{"quantile":1,"value":"NaN"}],"flags":1}`,
			`attributes{key:"k"} start_time_unix_nano:1 time_unix_nano:2 count:3 sum:4.5 quantile_values{value:1} quantile_values{quantile:1 value:nan} flags:1`},
		{"an exemplar", jsonInExemplar, textInExemplar,
			`{"filteredAttributes":[{"key":"k"}],"timeUnixNano":"1","asInt":"-2","spanId":"EEE19B7EC3C1B174","traceId":"5b8efff798038103d269b633813fc60c"}`,
			`filtered_attributes{key:"k"} time_unix_nano:1 as_int:-2 span_id:"\xee\xe1\x9b\x7e\xc3\xc1\xb1\x74" trace_id:"\x5b\x8e\xff\xf7\x98\x03\x81\x03\xd2\x69\xb6\x33\x81\x3f\xc6\x0c"`},
		{"no ids", jsonInExemplar, textInExemplar, `{"spanId":"","traceId":"","asDouble":1}`, `as_double:1`},
		{"an escaped id", jsonInExemplar, textInExemplar, `{"spanId":"\u0030000000000000001"}`, `span_id:"\x00\x00\x00\x00\x00\x00\x00\x01"`},
		{"a resource", jsonInResource, textInResource,
			`{"attributes":[{"key":"k"}],"droppedAttributesCount":4294967295,"entityRefs":[{"schemaUrl":"s","type":"t","idKeys":["a",""],"descriptionKeys":["\n"]}]}`,
			`attributes{key:"k"} dropped_attributes_count:4294967295 entity_refs{schema_url:"s" type:"t" id_keys:"a" id_keys:"" description_keys:"\n"}`},
		{"a scope", "%s", "%s",
			`{"resourceMetrics":[{"scopeMetrics":[{"scope":{"name":"n","version":"v","attributes":[{"key":"k"}],"droppedAttributesCount":"1"}}]}]}`,
			`resource_metrics{scope_metrics{scope{name:"n" version:"v" attributes{key:"k"} dropped_attributes_count:1}}}`},

		// Attribute values.
		{"a string", jsonInAny, textInAny, `{"stringValue":"v"}`, `string_value:"v"`},
		{"an empty string is a value", jsonInAny, textInAny, `{"stringValue":""}`, `string_value:""`},
		{"false is a value", jsonInAny, textInAny, `{"boolValue":false}`, `bool_value:false`},
		{"an int", jsonInAny, textInAny, `{"intValue":"-9223372036854775808"}`, `int_value:-9223372036854775808`},
		{"a double", jsonInAny, textInAny, `{"doubleValue":-0.0}`, `double_value:-0`},
		{"an array", jsonInAny, textInAny, `{"arrayValue":{"values":[{"intValue":1},{},{"arrayValue":{}}]}}`, `array_value{values{int_value:1} values{} values{array_value{}}}`},
		{"a map", jsonInAny, textInAny, `{"kvlistValue":{"values":[{"key":"k","value":{"boolValue":true}}]}}`, `kvlist_value{values{key:"k" value{bool_value:true}}}`},
		{"bytes, padded", jsonInAny, textInAny, `{"bytesValue":"+/8="}`, `bytes_value:"\xfb\xff"`},
		{"bytes, not padded", jsonInAny, textInAny, `{"bytesValue":"+/8"}`, `bytes_value:"\xfb\xff"`},
		{"bytes, URL alphabet", jsonInAny, textInAny, `{"bytesValue":"-_8"}`, `bytes_value:"\xfb\xff"`},
		{"bytes, escaped slash", jsonInAny, textInAny, `{"bytesValue":"+\/8="}`, `bytes_value:"\xfb\xff"`},
		{"bytes, two padded", jsonInAny, textInAny, `{"bytesValue":"QUJDRA=="}`, `bytes_value:"ABCD"`},
		{"no bytes are a value", jsonInAny, textInAny, `{"bytesValue":""}`, `bytes_value:""`},
		{"string table indexes", jsonInResource, textInResource, `{"attributes":[{"keyStrindex":7,"value":{"stringValueStrindex":0}}]}`, `attributes{key_strindex:7 value{string_value_strindex:0}}`},

		// Strings.
		{"escapes", jsonInAny, textInAny, `{"stringValue":"\"\\\/\b\f\n\r\t\u00e4\u0000"}`, `string_value:"\"\\/\b\f\n\r\t\u00e4\x00"`},
		{"a surrogate pair", jsonInAny, textInAny, `{"stringValue":"<\ud83d\ude00>"}`, `string_value:"<😀>"`},
		{"halves of a pair", jsonInAny, textInAny, `{"stringValue":"\ud83d,\ude00\ud83d\u0041\ud83d\ud83d\ude00\ud83d"}`, "string_value:\"\uFFFD,\uFFFD\uFFFDA\uFFFD😀\uFFFD\""},
		{"DEL and beyond", jsonInAny, textInAny, "{\"stringValue\":\"\x7f\u0080\uFFFD\U0010FFFF\"}", "string_value:\"\x7f\u0080\uFFFD\U0010FFFF\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := fmt.Sprintf(c.json, c.in)
			want := &collectormetrics.ExportMetricsServiceRequest{}
			require.NoError(t, prototext.Unmarshal(fmt.Appendf(nil, c.text, c.want), want))
			out, err := AppendJSON([]byte("kept"), []byte(src))
			require.NoError(t, err, src)
			require.True(t, bytes.HasPrefix(out, []byte("kept")))
			out = out[4:]

			got := &collectormetrics.ExportMetricsServiceRequest{}
			require.NoError(t, proto.Unmarshal(out, got))
			assert.True(t, proto.Equal(want, got), "want %v\ngot  %v", want, got)
			if !strings.HasPrefix(c.name, "last ") { // whose first member is still on the wire
				assert.Equal(t, proto.Size(want), len(out), "as short as a canonical encoding")
			}
			wire, err := proto.Marshal(want)
			require.NoError(t, err)
			assert.Equal(t, jsonByPdata(t, wire), jsonByPdata(t, out), "as pdata reads it")
		})
	}
}

// jsonByPdata decodes a request with pdata and encodes it again, so that two
// requests can be compared, NaN included.
func jsonByPdata(t testing.TB, wire []byte) []byte {
	t.Helper()
	r := pmetricotlp.NewExportRequest()
	require.NoError(t, r.UnmarshalProto(wire), "%x", wire)
	out, err := r.MarshalProto()
	require.NoError(t, err)
	return out
}

func TestJSONLengths(t *testing.T) {
	// Around every length at which a length prefix grows, on several levels.
	for _, n := range []int{100, 110, 120, 125, 126, 127, 128, 129, 16370, 16380, 16383, 16384, 16385, 2097140, 2097151, 2097152} {
		text := strings.Repeat("x", n)
		for _, in := range []string{text, `\u0078` + text[1:]} {
			out, err := AppendJSON(nil, fmt.Appendf(nil, jsonInAny, `{"stringValue":"`+in+`"}`))
			require.NoError(t, err)
			got := &collectormetrics.ExportMetricsServiceRequest{}
			require.NoError(t, proto.Unmarshal(out, got))
			require.Equal(t, text, got.ResourceMetrics[0].Resource.Attributes[0].Value.GetStringValue())
			require.Equal(t, proto.Size(got), len(out))
		}
	}
}

// TestJSONExample reads a document with every kind of metric and compares it
// with pdata's own reading.
func TestJSONExample(t *testing.T) {
	src, err := os.ReadFile("testdata/request.json")
	require.NoError(t, err)
	out, err := AppendJSON(nil, src)
	require.NoError(t, err)
	got := &collectormetrics.ExportMetricsServiceRequest{}
	require.NoError(t, proto.Unmarshal(out, got))
	require.Equal(t, proto.Size(got), len(out))
	r := pmetricotlp.NewExportRequest()
	require.NoError(t, r.UnmarshalJSON(src))
	want, err := r.MarshalProto()
	require.NoError(t, err)
	require.Equal(t, want, jsonByPdata(t, out))
}
