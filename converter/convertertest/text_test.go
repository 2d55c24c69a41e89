package convertertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter/convertertest"
)

func TestRequestShortForms(t *testing.T) {
	got, err := convertertest.Metrics(`
		metrics { # "not a string" = @nothing
			name: "a@5 = # b"
			gauge { data_points {
				time_unix_nano: @1500 as_int: 1
				attributes: "s" = "v\"="  attributes: "b" = true attributes: "i" = -7
				attributes: "d" = 1e3 attributes: "n" = nan
				exemplars { trace_id: hex"000a" as_int: 1 }
			}}
		}`)
	require.NoError(t, err)
	want, err := convertertest.Request(`resource_metrics {
		resource {
			attributes { key: "service.name" value { string_value: "shop" } }
			attributes { key: "service.instance.id" value { string_value: "a1" } }
		}
		scope_metrics { metrics {
			name: "a@5 = # b"
			gauge { data_points {
				time_unix_nano: 1500000000 as_int: 1
				attributes { key: "s" value { string_value: 'v"=' } }
				attributes { key: "b" value { bool_value: true } }
				attributes { key: "i" value { int_value: -7 } }
				attributes { key: "d" value { double_value: 1000 } }
				attributes { key: "n" value { double_value: nan } }
				exemplars { trace_id: "\x00\n" as_int: 1 }
			}}
		}}
	}`)
	require.NoError(t, err)
	require.Equal(t, convertertest.Ascending(want), convertertest.Ascending(got))
}

func TestRequestErrors(t *testing.T) {
	for text, want := range map[string]string{
		`resource_metrics { schema_url: "x }`:                  "string does not end",
		`resource_metrics { resource { attributes: "k" = v }}`: `attribute value "v"`,
		`time: @x`:            "time @",
		`x: hex"0"`:           `hex"0"`,
		`no_such_field: 1`:    "no_such_field",
		`resource_metrics { `: "unexpected",
	} {
		_, err := convertertest.Request(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestShift(t *testing.T) {
	before, err := convertertest.Metrics(`metrics { sum { data_points {
		start_time_unix_nano: @1000 time_unix_nano: @2000 as_int: 1000 exemplars { time_unix_nano: @1500 }
	} data_points { as_int: 1 } } }`)
	require.NoError(t, err)
	want, err := convertertest.Metrics(`metrics { sum { data_points {
		start_time_unix_nano: @61000 time_unix_nano: @62000 as_int: 1000 exemplars { time_unix_nano: @61500 }
	} data_points { as_int: 1 } } }`)
	require.NoError(t, err)
	kept := proto.Clone(before)
	require.True(t, proto.Equal(want, convertertest.Shift(before, time.Minute)))
	require.True(t, proto.Equal(kept, before), "the original is left alone")
}
