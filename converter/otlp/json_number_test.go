package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonNumbers are texts that are numbers, nearly numbers, and no numbers.
var jsonNumbers = func() (texts []string) {
	for _, s := range []string{
		"0", "1", "9", "10", "123456789", "00", "01", "+1", "1_000", "0x10", "1.", ".5", "1.e1", "1e", "1e+", "e5", "", " 1", "1 ", "NaN", "Infinity", "Inf", "nan", "infinity",
		"1.0", "1.5", "0.5", "0.50e1", "0.000", "0e0", "0e999999999999999999999", "0.0e-99999", "1e3", "1E3", "1e+3", "1e-3", "1000e-3", "1500e-3", "12.3400e2", "12.3400e1", "0.00012e5", "100.0e-2",
		"127", "128", "255", "256", "2147483647", "2147483648", "2147483649", "2147483648.0", "4294967295", "4294967296", "4294967295.5", "42949672950e-1",
		"9223372036854775807", "9223372036854775808", "9223372036854775809", "18446744073709551615", "18446744073709551616", "18446744073709551620", "184467440737095516150e-1", "1844674407370955161.5e1", "1844674407370955161.6e1",
		"10000000000000000000", "100000000000000000000", "1e19", "1e20", "2e19", "1.8446744073709551615e19", "1e18446744073709551616", "1e-18446744073709551616",
		"1.7976931348623157e308", "1.8e308", "1e309", "5e-324", "1e-400", "2.2250738585072011e-308", "0.1", "123.456", "9007199254740993",
		"1" + strings.Repeat("0", 400), "1" + strings.Repeat("0", 400) + "e-400", "7." + strings.Repeat("0", 5000), strings.Repeat("9", 5000),
	} {
		texts = append(texts, s, "-"+s)
	}
	return texts
}()

// TestJSONNumbersAsProtobuf writes every text as number and as string into a
// field of every type, and compares with protobuf's own JSON decoder.
func TestJSONNumbersAsProtobuf(t *testing.T) {
	for _, doc := range []string{
		fmt.Sprintf(jsonInPoint, `{"timeUnixNano":%s}`),
		fmt.Sprintf(jsonInPoint, `{"asInt":%s}`),
		fmt.Sprintf(jsonInPoint, `{"asDouble":%s}`),
		fmt.Sprintf(jsonInPoint, `{"flags":%s}`),
		fmt.Sprintf(jsonInExpo, `{"scale":%s}`),
		fmt.Sprintf(jsonInExpo, `{"positive":{"bucketCounts":[%s]}}`),
		fmt.Sprintf(jsonInHistogram, `{"bucketCounts":[1,%s]}`),
		fmt.Sprintf(jsonInHistogram, `{"explicitBounds":[1,%s]}`),
		fmt.Sprintf(jsonInHistogram, `{"min":%s}`),
		fmt.Sprintf(jsonInSummary, `{"sum":%s}`),
		fmt.Sprintf(jsonInAny, `{"intValue":%s}`),
		fmt.Sprintf(jsonInAny, `{"doubleValue":%s}`),
		fmt.Sprintf(jsonInAny, `{"stringValueStrindex":%s}`),
		fmt.Sprintf(jsonInMetric, `{"sum":{"aggregationTemporality":%s}}`),
	} {
		for _, text := range jsonNumbers {
			for _, value := range []string{text, `"` + text + `"`} {
				src := []byte(strings.Replace(doc, "%s", value, 1))
				want := &collectormetrics.ExportMetricsServiceRequest{}
				refused := protojson.Unmarshal(src, want)
				if strings.Contains(doc, "Temporality") && strings.HasPrefix(value, `"`) {
					refused = errors.New("OTLP takes enums by number only")
				}
				if !json.Valid(src) {
					refused = errors.New("protojson takes a number that ends in e")
				}
				out, err := AppendJSON(nil, src)
				require.Equal(t, refused == nil, err == nil, "protobuf: %v\nours: %v\n%s", refused, err, src)
				if err != nil {
					require.Less(t, len(err.Error()), 300)
					continue
				}
				got := &collectormetrics.ExportMetricsServiceRequest{}
				require.NoError(t, proto.Unmarshal(out, got))
				require.True(t, proto.Equal(want, got), "%s\nwant %v\ngot  %v", src, want, got)
				require.Equal(t, proto.Size(want), len(out), "%s", src)
			}
		}
	}
}

func TestJSONInteger(t *testing.T) {
	zeros := strings.Repeat("0", 1000)
	for _, c := range []struct {
		text  string
		want  uint64
		fault string
	}{
		{"0." + zeros + "7e1001", 7, ""}, // protobuf's decoder gives up on these
		{"7" + zeros + "e-1000", 7, ""},
		{"0." + zeros, 0, ""},
		{"0e99999999999999999999", 0, ""},
		{"7e-99999999999999999999", 0, jsonFraction},
		{"7e99999999999999999999", 0, jsonTooLarge},
		{"7" + zeros, 0, jsonTooLarge},
		{"7" + zeros + ".5", 0, jsonFraction},
		{"18446744073709551615", math.MaxUint64, ""},
		{"18446744073709551616", 0, jsonTooLarge},
		{"18446744073709551615.000", math.MaxUint64, ""},
		{"1844674407370955161.5", 0, jsonFraction},
	} {
		for _, sign := range []string{"", "-"} {
			negative, abs, fault := jsonInteger([]byte(sign + c.text))
			require.Equal(t, c.fault, fault, c.text)
			if fault == "" {
				require.Equal(t, c.want, abs, c.text)
				require.Equal(t, sign == "-", negative)
			}
		}
	}
}

func TestJSONNumberFaults(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{"asInt", `1.50`, "1.50 is a fraction and not a 64-bit integer"},
		{"asInt", `"9223372036854775808"`, "9223372036854775808 is out of range for a 64-bit integer"},
		{"asInt", `"five"`, `expected a 64-bit integer, found the string "five"`},
		{"timeUnixNano", `-1`, "-1 is out of range for an unsigned 64-bit integer"},
		{"timeUnixNano", `""`, `expected an unsigned 64-bit integer, found the string ""`},
		{"flags", `4294967296`, "4294967296 is out of range for an unsigned 32-bit integer"},
		{"asDouble", `1e309`, "1e309 is too large for a double"},
		{"asDouble", `"-1e309"`, "-1e309 is too large for a double"},
		{"asDouble", `1` + strings.Repeat("0", 400), "1" + strings.Repeat("0", 31) + "… is too large for a double"},
		{"asDouble", `.5`, "expected a number, found '.'"},
		{"asDouble", `-`, "expected a number, found '-'"},
		{"asDouble", `NaN`, "expected a number, found 'N'"},
	} {
		src := fmt.Appendf(nil, jsonInPoint, `{"`+c.field+`":`+c.value+`}`)
		_, err := AppendJSON(nil, src)
		var fault *JSONError
		require.ErrorAs(t, err, &fault, "%s", src)
		require.Equal(t, c.want, fault.Msg)
		require.Equal(t, strings.Index(string(src), c.value), fault.Offset)
	}
}
