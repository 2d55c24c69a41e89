package otlp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestJSONFieldsFollowProto compares the tables with the descriptors of the
// generated code: every field of every message, both ways.
func TestJSONFieldsFollowProto(t *testing.T) {
	seen := map[protoreflect.FullName]jsonMessage{}
	var compare func(protoreflect.MessageDescriptor, jsonMessage)
	compare = func(md protoreflect.MessageDescriptor, id jsonMessage) {
		if known, ok := seen[md.FullName()]; ok {
			require.Equal(t, known, id, "two tables for %s", md.FullName())
			return
		}
		seen[md.FullName()] = id
		fields := jsonFields[id]
		require.Len(t, fields, md.Fields().Len(), "%s", md.FullName())
		require.LessOrEqual(t, len(fields), 32, "the bits of seen")
		for _, f := range fields {
			fd := md.Fields().ByJSONName(f.name)
			require.NotNil(t, fd, "%s has no %s", md.FullName(), f.name)
			name := fd.FullName()
			assert.Equal(t, fd.Number(), protoreflect.FieldNumber(f.num), name)
			require.Less(t, f.num, uint8(16), "tag of one byte: %s", name)
			assert.Equal(t, fd.IsList(), f.repeated, name)
			assert.Equal(t, fd.IsPacked(), f.packed(), name)
			assert.Equal(t, fd.ContainingOneof() != nil, f.explicit, name)
			assert.Equal(t, jsonWireType(fd), protowire.Type(f.tag()&7), name)
			assert.Equal(t, f.num, f.tag()>>3, name)
			assert.Contains(t, jsonKindsOf[fd.Kind()], f.kind, name)
			if f.kind == jsonKindMessage {
				compare(fd.Message(), f.message)
			}
		}
	}
	compare((&collectormetrics.ExportMetricsServiceRequest{}).ProtoReflect().Descriptor(), jsonRequest)
	assert.Len(t, seen, len(jsonFields), "every table is reached")
}

var jsonKindsOf = map[protoreflect.Kind][]jsonKind{
	protoreflect.MessageKind:  {jsonKindMessage},
	protoreflect.StringKind:   {jsonKindString},
	protoreflect.BytesKind:    {jsonKindBytes, jsonKindTraceID, jsonKindSpanID},
	protoreflect.BoolKind:     {jsonKindBool},
	protoreflect.EnumKind:     {jsonKindEnum},
	protoreflect.Int32Kind:    {jsonKindInt32},
	protoreflect.Sint32Kind:   {jsonKindSint32},
	protoreflect.Uint32Kind:   {jsonKindUint32},
	protoreflect.Int64Kind:    {jsonKindInt64},
	protoreflect.Uint64Kind:   {jsonKindUint64},
	protoreflect.Fixed64Kind:  {jsonKindFixed64},
	protoreflect.Sfixed64Kind: {jsonKindSfixed64},
	protoreflect.DoubleKind:   {jsonKindDouble},
}

func jsonWireType(fd protoreflect.FieldDescriptor) protowire.Type {
	if fd.IsPacked() {
		return protowire.BytesType
	}
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.BytesType
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}
