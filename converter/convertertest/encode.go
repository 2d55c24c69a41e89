package convertertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Encoding is one way to put a request on the wire.
type Encoding struct {
	Name string
	// JSON says that the bytes are OTLP/JSON.
	JSON   bool
	Encode func(proto.Message) ([]byte, error)
}

// Encodings returns every encoding of this package. The seed picks one of the
// many orders that the unordered ones allow.
func Encodings(seed uint64) []Encoding {
	binary := func(name string, encode func(proto.Message) []byte) Encoding {
		return Encoding{Name: name, Encode: func(m proto.Message) ([]byte, error) { return encode(m), nil }}
	}
	return []Encoding{
		binary("ascending", Ascending),
		binary("descending", Descending),
		binary("split", func(m proto.Message) []byte { return Split(m, seed) }),
		binary("merge", func(m proto.Message) []byte { return Merge(m, seed) }),
		{Name: "collector", Encode: Collector},
		{Name: "json", JSON: true, Encode: JSON},
	}
}

// Ascending writes fields in ascending number at every level, as protobuf's own
// marshalers do.
func Ascending(m proto.Message) []byte {
	e := encoder{order: func(records []record) {
		slices.SortStableFunc(records, func(a, b record) int { return int(a.number) - int(b.number) })
	}}
	return e.message(m.ProtoReflect())
}

// Descending writes fields in descending number at every level: a resource
// follows its scopes, a metric's name follows its points.
func Descending(m proto.Message) []byte {
	e := encoder{order: func(records []record) {
		slices.SortStableFunc(records, func(a, b record) int { return int(b.number) - int(a.number) })
	}}
	return e.message(m.ProtoReflect())
}

// Split writes the fields of every level in random order. Only what protobuf
// promises is kept: the order among the elements of one repeated field. So
// attributes stand between other fields, packed fields are partly unpacked, and
// fields that nobody knows are interspersed.
func Split(m proto.Message, seed uint64) []byte {
	e := encoder{rnd: rand.New(rand.NewPCG(seed, 1)), unpack: true}
	e.order = e.shuffle
	return e.message(m.ProtoReflect())
}

// Merge is [Split] with the two liberties that protobuf grants and pdata does
// not fully take: packed fields come in several chunks, and a message that is
// not repeated comes in two parts, to be merged.
func Merge(m proto.Message, seed uint64) []byte {
	e := encoder{rnd: rand.New(rand.NewPCG(seed, 2)), unpack: true, merge: true}
	e.order = e.shuffle
	return e.message(m.ProtoReflect())
}

// Collector writes what the OpenTelemetry Collector's exporters write: fields
// in the reverse of the order in which the .proto files declare them, ids even
// when they are empty.
func Collector(m proto.Message) ([]byte, error) {
	req := pmetricotlp.NewExportRequest()
	if err := req.UnmarshalProto(Ascending(m)); err != nil {
		return nil, fmt.Errorf("to the Collector's encoding: %w", err)
	}
	return req.MarshalProto()
}

// JSON writes OTLP/JSON as the Collector does: lowerCamelCase names, ids in
// hex, 64-bit integers as strings.
func JSON(m proto.Message) ([]byte, error) {
	req := pmetricotlp.NewExportRequest()
	if err := req.UnmarshalProto(Ascending(m)); err != nil {
		return nil, fmt.Errorf("to JSON: %w", err)
	}
	return req.MarshalJSON()
}

// record is one field with its tag.
type record struct {
	number protowire.Number
	bytes  []byte
}

type encoder struct {
	order         func([]record)
	rnd           *rand.Rand
	unpack, merge bool
}

func (e *encoder) message(m protoreflect.Message) []byte {
	records := e.records(m)
	var out []byte
	for _, r := range records {
		out = append(out, r.bytes...)
	}
	return out
}

// records returns the fields of m in the order in which they are written.
func (e *encoder) records(m protoreflect.Message) []record {
	var fields []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		fields = append(fields, fd)
		return true
	})
	// Range has no order; the result must depend on the seed alone.
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number()) - int(b.Number()) })
	var records []record
	for _, fd := range fields {
		records = append(records, e.field(fd, m.Get(fd))...)
	}
	if e.rnd != nil && e.rnd.IntN(8) == 0 {
		records = append(records, e.unknown())
	}
	e.order(records)
	return records
}

func (e *encoder) field(fd protoreflect.FieldDescriptor, v protoreflect.Value) []record {
	tagged := func(t protowire.Type, body []byte) record {
		return record{fd.Number(), append(protowire.AppendTag(nil, fd.Number(), t), body...)}
	}
	if fd.Kind() == protoreflect.MessageKind {
		if fd.IsList() {
			var records []record
			for i := range v.List().Len() {
				body := e.message(v.List().Get(i).Message())
				records = append(records, tagged(protowire.BytesType, protowire.AppendBytes(nil, body)))
			}
			return records
		}
		var records []record
		for _, part := range e.parts(fd, e.records(v.Message())) {
			var body []byte
			for _, r := range part {
				body = append(body, r.bytes...)
			}
			records = append(records, tagged(protowire.BytesType, protowire.AppendBytes(nil, body)))
		}
		return records
	}
	if !fd.IsList() {
		return []record{tagged(scalar(fd, v))}
	}
	list := v.List()
	if !fd.IsPacked() {
		var records []record
		for i := range list.Len() {
			records = append(records, tagged(scalar(fd, list.Get(i))))
		}
		return records
	}
	var records []record
	for i := 0; i < list.Len(); {
		n := list.Len() - i
		if e.unpack && (i == 0 || e.merge) {
			n = e.rnd.IntN(n + 1)
		}
		if e.unpack && ((i > 0 && !e.merge) || n == 0) {
			records = append(records, tagged(scalar(fd, list.Get(i))))
			i++
			continue
		}
		var body []byte
		for j := i; j < i+n; j++ {
			_, b := scalar(fd, list.Get(j))
			body = append(body, b...)
		}
		records = append(records, tagged(protowire.BytesType, protowire.AppendBytes(nil, body)))
		i += n
	}
	return records
}

// parts cuts the fields of one message into those of two occurrences, when the
// encoding wants it. Members of a oneof are replaced and not merged by some
// readers, so they stay whole.
func (e *encoder) parts(fd protoreflect.FieldDescriptor, records []record) [][]record {
	if !e.merge || fd.ContainingOneof() != nil || len(records) < 2 || e.rnd.IntN(2) == 0 {
		return [][]record{records}
	}
	cut := 1 + e.rnd.IntN(len(records)-1)
	return [][]record{records[:cut], records[cut:]}
}

// unknown returns a field of a number that OTLP does not use.
func (e *encoder) unknown() record {
	n := protowire.Number(20_000 + e.rnd.IntN(100))
	switch e.rnd.IntN(4) {
	case 0:
		return record{n, protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), e.rnd.Uint64())}
	case 1:
		return record{n, protowire.AppendFixed32(protowire.AppendTag(nil, n, protowire.Fixed32Type), e.rnd.Uint32())}
	case 2:
		return record{n, protowire.AppendFixed64(protowire.AppendTag(nil, n, protowire.Fixed64Type), e.rnd.Uint64())}
	}
	return record{n, protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), "from a later version")}
}

// shuffle orders records at random but for those of one number.
func (e *encoder) shuffle(records []record) {
	byNumber := make(map[protowire.Number][]record)
	numbers := make([]protowire.Number, len(records))
	for i, r := range records {
		byNumber[r.number] = append(byNumber[r.number], r)
		numbers[i] = r.number
	}
	e.rnd.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	for i, n := range numbers {
		records[i] = byNumber[n][0]
		byNumber[n] = byNumber[n][1:]
	}
}

// scalar returns the wire type and the bytes of a value without its tag.
func scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) (protowire.Type, []byte) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protowire.VarintType, protowire.AppendVarint(nil, protowire.EncodeBool(v.Bool()))
	case protoreflect.EnumKind:
		return protowire.VarintType, protowire.AppendVarint(nil, uint64(v.Enum()))
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return protowire.VarintType, protowire.AppendVarint(nil, uint64(v.Int()))
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.VarintType, protowire.AppendVarint(nil, protowire.EncodeZigZag(v.Int()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return protowire.VarintType, protowire.AppendVarint(nil, v.Uint())
	case protoreflect.Fixed64Kind:
		return protowire.Fixed64Type, protowire.AppendFixed64(nil, v.Uint())
	case protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type, protowire.AppendFixed64(nil, uint64(v.Int()))
	case protoreflect.Fixed32Kind:
		return protowire.Fixed32Type, protowire.AppendFixed32(nil, uint32(v.Uint()))
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type, protowire.AppendFixed64(nil, math.Float64bits(v.Float()))
	case protoreflect.StringKind:
		return protowire.BytesType, protowire.AppendString(nil, v.String())
	case protoreflect.BytesKind:
		return protowire.BytesType, protowire.AppendBytes(nil, v.Bytes())
	}
	panic(fmt.Sprintf("convertertest: no encoding for kind %s of %s", fd.Kind(), fd.FullName()))
}
