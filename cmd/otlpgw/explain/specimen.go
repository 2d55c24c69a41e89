package explain

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// A specimen is a request with one point of one metric, in which every
// attribute has a value of its own: by that its label is found again, whatever
// it is called. Values are "p0" for the first attribute of the point, "s0" of
// the scope, "r0" of the resource.

// specimen returns the request for a metric, its point being at timeNs.
//
// Field numbers are those of opentelemetry/proto/metrics/v1/metrics.proto.
func (k *metricKeys) specimen(timeNs uint64) []byte {
	metric := text(nil, 1, k.name)
	metric = text(metric, 3, k.unit)
	metric = message(metric, protowire.Number(k.typ), k.data(timeNs))
	for _, kv := range k.metadata {
		metric = message(metric, 12, kv)
	}
	scopeMetrics := message(nil, 1, attributes(nil, 3, "s", k.scope))
	scopeMetrics = message(scopeMetrics, 2, metric)
	resourceMetrics := message(nil, 1, attributes(nil, 1, "r", k.resource))
	resourceMetrics = message(resourceMetrics, 2, scopeMetrics)
	return message(nil, 1, resourceMetrics)
}

// data returns the Gauge, Sum, … with its point.
func (k *metricKeys) data(timeNs uint64) []byte {
	var point []byte
	switch k.typ {
	case otlp.TypeGauge, otlp.TypeSum:
		point = fixed64(attributes(nil, 7, "p", k.point), 3, timeNs)
		point = fixed64(point, 6, 1) // as_int
	case otlp.TypeHistogram:
		point = fixed64(attributes(nil, 9, "p", k.point), 3, timeNs)
		point = fixed64(point, 4, 0)                                                 // count
		point = fixed64(point, 5, 0)                                                 // sum
		point = message(point, 6, make([]byte, 16))                                  // bucket_counts: 0, 0
		point = message(point, 7, protowire.AppendFixed64(nil, math.Float64bits(1))) // explicit_bounds
	case otlp.TypeExponentialHistogram:
		point = fixed64(attributes(nil, 1, "p", k.point), 3, timeNs)
		point = fixed64(point, 4, 0) // count
		point = fixed64(point, 5, 0) // sum
	case otlp.TypeSummary:
		point = fixed64(attributes(nil, 7, "p", k.point), 3, timeNs)
		point = fixed64(point, 4, 0)                                      // count
		point = fixed64(point, 5, 0)                                      // sum
		point = message(point, 6, fixed64(nil, 1, math.Float64bits(0.5))) // quantile_values
	}
	data := message(nil, 1, point)
	if k.temporality != otlp.Unspecified {
		data = varint(data, 2, uint64(k.temporality))
	}
	if k.monotonic {
		data = varint(data, 3, 1)
	}
	return data
}

// attributes appends a KeyValue for each key, with the values prefix0,
// prefix1, and so on.
func attributes(dst []byte, num protowire.Number, prefix string, of keys) []byte {
	for i, key := range of {
		kv := text(nil, 1, key)
		kv = message(kv, 2, text(nil, 1, prefix+strconv.Itoa(i)))
		dst = message(dst, num, kv)
	}
	return dst
}

func text(dst []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, num, protowire.BytesType), s)
}

func message(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

func fixed64(dst []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, num, protowire.Fixed64Type), v)
}

func varint(dst []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}
