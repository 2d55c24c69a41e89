package explain

import (
	"bytes"
	"testing"

	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
)

const everyType = `resource_metrics {
	resource {
		attributes: "service.name" = "shop" attributes: "k8s.pod" = "p" attributes: "2nd" = "x"
	}
	scope_metrics {
		scope { name: "sc" attributes: "lib.kind" = "db" }
		metrics { name: "queue.depth" unit: "By" gauge { data_points { time_unix_nano: @1 as_int: 1 attributes: "a.b" = "v" attributes: "a_b" = "v" } } }
		metrics { name: "orders" sum { aggregation_temporality: 2 is_monotonic: true
			data_points { time_unix_nano: @1 as_int: 1 attributes: "x" = "same" attributes: "w" = "same" }
			data_points { time_unix_nano: @1 as_int: 2 attributes: "other.key" = "" } } }
		metrics { name: "req.time" unit: "s" histogram { aggregation_temporality: 2
			data_points { time_unix_nano: @1 count: 1 bucket_counts: 1 } } }
		metrics { name: "size" unit: "By" exponential_histogram { aggregation_temporality: 2
			data_points { time_unix_nano: @1 count: 0 } } }
		metrics { name: "old.summary" unit: "ms" summary { data_points { time_unix_nano: @1 } } }
		metrics { name: "delta" sum { aggregation_temporality: 1 data_points { time_unix_nano: @1 as_int: 1 } } }
		metrics { name: "größe" unit: "1" gauge { data_points { time_unix_nano: @1 as_int: 1 } } }
		metrics { name: "..." gauge { data_points { time_unix_nano: @1 as_int: 1 } } }
		metrics { name: "no.points" gauge { } }
	}
}
resource_metrics {
	resource { attributes: "service.name" = "shop" attributes: "late.key" = "y" }
	scope_metrics { metrics { name: "orders" sum { aggregation_temporality: 2 is_monotonic: true
		data_points { time_unix_nano: @1 as_int: 1 attributes: "x" = "2" } } } }
}`

const wantEveryType = `UnderscoreEscapingWithSuffixes -> NoTranslation

queue.depth
  queue_depth_bytes -> queue.depth
  label a_b -> a.b
  label a_b -> a_b
  label otel_scope_lib_kind -> otel_scope_lib.kind
  label k8s_pod -> k8s.pod

orders
  orders_total -> orders
  label x -> x
  label w -> w
  label other_key -> other.key
  label otel_scope_lib_kind -> otel_scope_lib.kind
  label k8s_pod -> k8s.pod

req.time
  req_time_seconds_count -> req.time_count
  req_time_seconds_sum -> req.time_sum
  req_time_seconds_bucket -> req.time_bucket
  label otel_scope_lib_kind -> otel_scope_lib.kind
  label k8s_pod -> k8s.pod

size
  size_bytes -> size
  label otel_scope_lib_kind -> otel_scope_lib.kind
  label k8s_pod -> k8s.pod

old.summary
  old_summary_milliseconds_count -> old.summary_count
  old_summary_milliseconds_sum -> old.summary_sum
  old_summary_milliseconds -> old.summary
  label otel_scope_lib_kind -> otel_scope_lib.kind
  label k8s_pod -> k8s.pod

delta
  (rejected: temporality) -> (rejected: temporality)

größe
  gr_e_ratio -> größe
  label otel_scope_lib_kind -> otel_scope_lib.kind
  label k8s_pod -> k8s.pod

...
  (rejected: name) -> ...
  label (none) -> otel_scope_lib.kind
  label (none) -> k8s.pod

target_info
  target_info -> target_info
  label k8s_pod -> k8s.pod
  label key_2nd -> 2nd
  label late_key -> late.key
`

// Names are compared by attribute, whatever the values are, in every encoding.
func TestCompare(t *testing.T) {
	req, err := convertertest.Request(everyType)
	require.NoError(t, err)
	o := converter.Options{Labels: converter.LabelOptions{PromoteResourceAttributes: []string{"k8s.pod"}}}
	for _, e := range convertertest.Encodings(3) {
		body, err := e.Encode(req)
		require.NoError(t, err)
		n, err := Compare(t.Context(), o, Payload{Body: body, JSON: e.JSON},
			otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.NoTranslation)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, n.WriteText(&out))
		require.Equal(t, wantEveryType, out.String(), e.Name)
	}
}
