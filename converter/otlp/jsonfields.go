package otlp

// jsonKind is the type of a field, and with it its place on both wires.
type jsonKind uint8

const (
	jsonKindMessage jsonKind = iota
	jsonKindString
	jsonKindBytes
	jsonKindTraceID
	jsonKindSpanID
	// The kinds from here on are numbers, and packed when repeated: first those
	// that are varints ...
	jsonKindBool
	jsonKindEnum
	jsonKindInt32
	jsonKindSint32
	jsonKindUint32
	jsonKindInt64
	jsonKindUint64
	// ... then those of eight bytes.
	jsonKindFixed64
	jsonKindSfixed64
	jsonKindDouble
)

// jsonField is one field of a message.
type jsonField struct {
	name string // lowerCamelCase, the only spelling OTLP/JSON allows
	num  uint8  // below 16, so that every tag is one byte
	kind jsonKind
	// explicit fields are on the wire when they are in the document, zero or
	// not: members of a oneof and optional ones.
	explicit bool
	repeated bool
	message  jsonMessage // for jsonKindMessage
}

func (f *jsonField) packed() bool { return f.repeated && f.kind >= jsonKindBool }

// tag returns the field's tag on the protobuf wire.
func (f *jsonField) tag() byte {
	switch {
	case f.kind < jsonKindBool || f.repeated:
		return f.num<<3 | 2
	case f.kind < jsonKindFixed64:
		return f.num << 3
	}
	return f.num<<3 | 1
}

// jsonMessage names a message. Fields refer to messages by number, since
// AnyValue contains itself.
type jsonMessage uint8

const (
	jsonRequest jsonMessage = iota
	jsonResourceMetrics
	jsonResource
	jsonEntityRef
	jsonScopeMetrics
	jsonScope
	jsonMetric
	jsonGauge
	jsonSum
	jsonHistogram
	jsonExponentialHistogram
	jsonSummary
	jsonNumberDataPoint
	jsonHistogramDataPoint
	jsonExponentialHistogramDataPoint
	jsonBuckets
	jsonSummaryDataPoint
	jsonValueAtQuantile
	jsonExemplar
	jsonKeyValue
	jsonAnyValue
	jsonArrayValue
	jsonKeyValueList
)

// jsonFields holds the messages of opentelemetry-proto v1.11 that a metrics
// request is made of.
var jsonFields = [...][]jsonField{
	// opentelemetry.proto.collector.metrics.v1
	jsonRequest: {
		{name: "resourceMetrics", num: 1, repeated: true, message: jsonResourceMetrics},
	},

	// opentelemetry.proto.metrics.v1
	jsonResourceMetrics: {
		{name: "resource", num: 1, message: jsonResource},
		{name: "scopeMetrics", num: 2, repeated: true, message: jsonScopeMetrics},
		{name: "schemaUrl", num: 3, kind: jsonKindString},
	},
	jsonScopeMetrics: {
		{name: "scope", num: 1, message: jsonScope},
		{name: "metrics", num: 2, repeated: true, message: jsonMetric},
		{name: "schemaUrl", num: 3, kind: jsonKindString},
	},
	jsonMetric: {
		{name: "name", num: 1, kind: jsonKindString},
		{name: "description", num: 2, kind: jsonKindString},
		{name: "unit", num: 3, kind: jsonKindString},
		{name: "gauge", num: 5, explicit: true, message: jsonGauge},
		{name: "sum", num: 7, explicit: true, message: jsonSum},
		{name: "histogram", num: 9, explicit: true, message: jsonHistogram},
		{name: "exponentialHistogram", num: 10, explicit: true, message: jsonExponentialHistogram},
		{name: "summary", num: 11, explicit: true, message: jsonSummary},
		{name: "metadata", num: 12, repeated: true, message: jsonKeyValue},
	},
	jsonGauge: {
		{name: "dataPoints", num: 1, repeated: true, message: jsonNumberDataPoint},
	},
	jsonSum: {
		{name: "dataPoints", num: 1, repeated: true, message: jsonNumberDataPoint},
		{name: "aggregationTemporality", num: 2, kind: jsonKindEnum},
		{name: "isMonotonic", num: 3, kind: jsonKindBool},
	},
	jsonHistogram: {
		{name: "dataPoints", num: 1, repeated: true, message: jsonHistogramDataPoint},
		{name: "aggregationTemporality", num: 2, kind: jsonKindEnum},
	},
	jsonExponentialHistogram: {
		{name: "dataPoints", num: 1, repeated: true, message: jsonExponentialHistogramDataPoint},
		{name: "aggregationTemporality", num: 2, kind: jsonKindEnum},
	},
	jsonSummary: {
		{name: "dataPoints", num: 1, repeated: true, message: jsonSummaryDataPoint},
	},
	jsonNumberDataPoint: {
		{name: "attributes", num: 7, repeated: true, message: jsonKeyValue},
		{name: "startTimeUnixNano", num: 2, kind: jsonKindFixed64},
		{name: "timeUnixNano", num: 3, kind: jsonKindFixed64},
		{name: "asDouble", num: 4, kind: jsonKindDouble, explicit: true},
		{name: "asInt", num: 6, kind: jsonKindSfixed64, explicit: true},
		{name: "exemplars", num: 5, repeated: true, message: jsonExemplar},
		{name: "flags", num: 8, kind: jsonKindUint32},
	},
	jsonHistogramDataPoint: {
		{name: "attributes", num: 9, repeated: true, message: jsonKeyValue},
		{name: "startTimeUnixNano", num: 2, kind: jsonKindFixed64},
		{name: "timeUnixNano", num: 3, kind: jsonKindFixed64},
		{name: "count", num: 4, kind: jsonKindFixed64},
		{name: "sum", num: 5, kind: jsonKindDouble, explicit: true},
		{name: "bucketCounts", num: 6, kind: jsonKindFixed64, repeated: true},
		{name: "explicitBounds", num: 7, kind: jsonKindDouble, repeated: true},
		{name: "exemplars", num: 8, repeated: true, message: jsonExemplar},
		{name: "flags", num: 10, kind: jsonKindUint32},
		{name: "min", num: 11, kind: jsonKindDouble, explicit: true},
		{name: "max", num: 12, kind: jsonKindDouble, explicit: true},
	},
	jsonExponentialHistogramDataPoint: {
		{name: "attributes", num: 1, repeated: true, message: jsonKeyValue},
		{name: "startTimeUnixNano", num: 2, kind: jsonKindFixed64},
		{name: "timeUnixNano", num: 3, kind: jsonKindFixed64},
		{name: "count", num: 4, kind: jsonKindFixed64},
		{name: "sum", num: 5, kind: jsonKindDouble, explicit: true},
		{name: "scale", num: 6, kind: jsonKindSint32},
		{name: "zeroCount", num: 7, kind: jsonKindFixed64},
		{name: "positive", num: 8, message: jsonBuckets},
		{name: "negative", num: 9, message: jsonBuckets},
		{name: "flags", num: 10, kind: jsonKindUint32},
		{name: "exemplars", num: 11, repeated: true, message: jsonExemplar},
		{name: "min", num: 12, kind: jsonKindDouble, explicit: true},
		{name: "max", num: 13, kind: jsonKindDouble, explicit: true},
		{name: "zeroThreshold", num: 14, kind: jsonKindDouble},
	},
	jsonBuckets: {
		{name: "offset", num: 1, kind: jsonKindSint32},
		{name: "bucketCounts", num: 2, kind: jsonKindUint64, repeated: true},
	},
	jsonSummaryDataPoint: {
		{name: "attributes", num: 7, repeated: true, message: jsonKeyValue},
		{name: "startTimeUnixNano", num: 2, kind: jsonKindFixed64},
		{name: "timeUnixNano", num: 3, kind: jsonKindFixed64},
		{name: "count", num: 4, kind: jsonKindFixed64},
		{name: "sum", num: 5, kind: jsonKindDouble},
		{name: "quantileValues", num: 6, repeated: true, message: jsonValueAtQuantile},
		{name: "flags", num: 8, kind: jsonKindUint32},
	},
	jsonValueAtQuantile: {
		{name: "quantile", num: 1, kind: jsonKindDouble},
		{name: "value", num: 2, kind: jsonKindDouble},
	},
	jsonExemplar: {
		{name: "filteredAttributes", num: 7, repeated: true, message: jsonKeyValue},
		{name: "timeUnixNano", num: 2, kind: jsonKindFixed64},
		{name: "asDouble", num: 3, kind: jsonKindDouble, explicit: true},
		{name: "asInt", num: 6, kind: jsonKindSfixed64, explicit: true},
		{name: "spanId", num: 4, kind: jsonKindSpanID},
		{name: "traceId", num: 5, kind: jsonKindTraceID},
	},

	// opentelemetry.proto.resource.v1
	jsonResource: {
		{name: "attributes", num: 1, repeated: true, message: jsonKeyValue},
		{name: "droppedAttributesCount", num: 2, kind: jsonKindUint32},
		{name: "entityRefs", num: 3, repeated: true, message: jsonEntityRef},
	},

	// opentelemetry.proto.common.v1
	jsonScope: {
		{name: "name", num: 1, kind: jsonKindString},
		{name: "version", num: 2, kind: jsonKindString},
		{name: "attributes", num: 3, repeated: true, message: jsonKeyValue},
		{name: "droppedAttributesCount", num: 4, kind: jsonKindUint32},
	},
	jsonEntityRef: {
		{name: "schemaUrl", num: 1, kind: jsonKindString},
		{name: "type", num: 2, kind: jsonKindString},
		{name: "idKeys", num: 3, kind: jsonKindString, repeated: true},
		{name: "descriptionKeys", num: 4, kind: jsonKindString, repeated: true},
	},
	jsonKeyValue: {
		{name: "key", num: 1, kind: jsonKindString},
		{name: "value", num: 2, message: jsonAnyValue},
		{name: "keyStrindex", num: 3, kind: jsonKindInt32},
	},
	jsonAnyValue: {
		{name: "stringValue", num: 1, kind: jsonKindString, explicit: true},
		{name: "boolValue", num: 2, kind: jsonKindBool, explicit: true},
		{name: "intValue", num: 3, kind: jsonKindInt64, explicit: true},
		{name: "doubleValue", num: 4, kind: jsonKindDouble, explicit: true},
		{name: "arrayValue", num: 5, explicit: true, message: jsonArrayValue},
		{name: "kvlistValue", num: 6, explicit: true, message: jsonKeyValueList},
		{name: "bytesValue", num: 7, kind: jsonKindBytes, explicit: true},
		{name: "stringValueStrindex", num: 8, kind: jsonKindInt32, explicit: true},
	},
	jsonArrayValue: {
		{name: "values", num: 1, repeated: true, message: jsonAnyValue},
	},
	jsonKeyValueList: {
		{name: "values", num: 1, repeated: true, message: jsonKeyValue},
	},
}
