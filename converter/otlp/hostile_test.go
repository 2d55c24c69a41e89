package otlp

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// place is a message type and how to get to it from the outermost one.
type place struct {
	message proto.Message
	path    []protowire.Number
}

// places are all messages of a metrics request.
var places = []place{
	{&metricspb.ResourceMetrics{}, []protowire.Number{1}},
	{&resourcepb.Resource{}, []protowire.Number{1, 1}},
	{&commonpb.EntityRef{}, []protowire.Number{1, 1, 3}},
	{&metricspb.ScopeMetrics{}, []protowire.Number{1, 2}},
	{&commonpb.InstrumentationScope{}, []protowire.Number{1, 2, 1}},
	{&metricspb.Metric{}, []protowire.Number{1, 2, 2}},
	{&metricspb.Gauge{}, []protowire.Number{1, 2, 2, 5}},
	{&metricspb.Sum{}, []protowire.Number{1, 2, 2, 7}},
	{&metricspb.Histogram{}, []protowire.Number{1, 2, 2, 9}},
	{&metricspb.ExponentialHistogram{}, []protowire.Number{1, 2, 2, 10}},
	{&metricspb.Summary{}, []protowire.Number{1, 2, 2, 11}},
	{&metricspb.NumberDataPoint{}, []protowire.Number{1, 2, 2, 5, 1}},
	{&metricspb.NumberDataPoint{}, []protowire.Number{1, 2, 2, 7, 1}},
	{&metricspb.HistogramDataPoint{}, []protowire.Number{1, 2, 2, 9, 1}},
	{&metricspb.ExponentialHistogramDataPoint{}, []protowire.Number{1, 2, 2, 10, 1}},
	{&metricspb.ExponentialHistogramDataPoint_Buckets{}, []protowire.Number{1, 2, 2, 10, 1, 8}},
	{&metricspb.ExponentialHistogramDataPoint_Buckets{}, []protowire.Number{1, 2, 2, 10, 1, 9}},
	{&metricspb.SummaryDataPoint{}, []protowire.Number{1, 2, 2, 11, 1}},
	{&metricspb.SummaryDataPoint_ValueAtQuantile{}, []protowire.Number{1, 2, 2, 11, 1, 6}},
	{&metricspb.Exemplar{}, []protowire.Number{1, 2, 2, 5, 1, 5}},
	{&metricspb.Exemplar{}, []protowire.Number{1, 2, 2, 9, 1, 8}},
	{&metricspb.Exemplar{}, []protowire.Number{1, 2, 2, 10, 1, 11}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 1, 1}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 2, 1, 3}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 2, 2, 12}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 2, 2, 5, 1, 7}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 2, 2, 9, 1, 9}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 2, 2, 10, 1, 1}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 2, 2, 11, 1, 7}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 2, 2, 5, 1, 5, 7}},
	{&commonpb.AnyValue{}, []protowire.Number{1, 1, 1, 2}},
	{&commonpb.AnyValue{}, []protowire.Number{1, 2, 2, 5, 1, 7, 2}},
	{&commonpb.ArrayValue{}, []protowire.Number{1, 1, 1, 2, 5}},
	{&commonpb.KeyValueList{}, []protowire.Number{1, 1, 1, 2, 6}},
	{&commonpb.KeyValue{}, []protowire.Number{1, 1, 1, 2, 6, 1}},
}

// lenient are the fields of which the wire type is not looked at although pdata
// does: nobody reads them here.
var lenient = map[protoreflect.FullName]bool{
	// Profiles only; OTLP metrics must not use them.
	"opentelemetry.proto.common.v1.KeyValue.key_strindex":          true,
	"opentelemetry.proto.common.v1.AnyValue.string_value_strindex": true,
}

// Every field of every message, written in every wire type: what pdata
// refuses is refused, and what it takes means the same.
func TestWireTypes(t *testing.T) {
	payloads := map[protowire.Type][]byte{
		protowire.VarintType:     {1},
		protowire.Fixed64Type:    {1, 0, 0, 0, 0, 0, 0, 0},
		protowire.BytesType:      {0},
		protowire.Fixed32Type:    {1, 0, 0, 0},
		protowire.StartGroupType: nil, // Its end is added below.
		protowire.EndGroupType:   nil,
		6:                        nil,
		7:                        nil,
	}
	for _, p := range places {
		fields := p.message.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			for typ, payload := range payloads {
				field := append(protowire.AppendTag(nil, fd.Number(), typ), payload...)
				if typ == protowire.StartGroupType {
					field = protowire.AppendTag(field, fd.Number(), protowire.EndGroupType)
				}
				body := nest(field, p.path...)
				req, err := collector(body)
				got, _, fault := views(body)
				if lenient[fd.FullName()] && err != nil && typ != protowire.EndGroupType && typ < 6 {
					continue
				}
				require.Equal(t, err != nil, fault != nil, "%s in wire type %d: pdata: %v, here: %v", fd.FullName(), typ, err, fault)
				if err == nil {
					require.Equal(t, messages(req.Metrics()), got, fd.FullName())
					continue
				}
				at := fault.Offset(body)
				require.GreaterOrEqual(t, at, 0)
				require.Less(t, at, len(body))
			}
		}
	}
}

// A field that OTLP does not know is skipped in every message, whatever it is.
func TestUnknownFields(t *testing.T) {
	for _, unknown := range [][]byte{
		protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1<<63),
		protowire.AppendFixed64(protowire.AppendTag(nil, 999, protowire.Fixed64Type), 1),
		protowire.AppendFixed32(protowire.AppendTag(nil, 1<<29-1, protowire.Fixed32Type), 1),
		protowire.AppendBytes(protowire.AppendTag(nil, 999, protowire.BytesType), []byte{0xff, 0xff, 0xff}),
		group(999, group(7, nil)),
		group(999, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte{0xff})),
		group(999, protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 1)),
		group(999, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)),
	} {
		for _, p := range places {
			want, _, fault := views(nest(nil, p.path...))
			require.Nil(t, fault)
			got, _, fault := views(nest(unknown, p.path...))
			require.Nil(t, fault, "%x in %T: %v", unknown, p.message, fault)
			require.Equal(t, want, got)

			_, _, fault = views(nest(unknown[:len(unknown)-1], p.path...))
			require.NotNil(t, fault, "a torn one is an error")
		}
	}
}

// group wraps content in a group.
func group(number protowire.Number, content []byte) []byte {
	b := protowire.AppendTag(nil, number, protowire.StartGroupType)
	return protowire.AppendTag(append(b, content...), number, protowire.EndGroupType)
}

// Groups nest up to a bound and must be closed by their own end.
func TestGroups(t *testing.T) {
	deep := func(n int) (b []byte) {
		for range n {
			b = group(9, b)
		}
		return b
	}
	for name, c := range map[string]struct {
		body []byte
		ok   bool
	}{
		"one":             {deep(1), true},
		"the deepest":     {deep(maxGroupDepth), true},
		"too deep":        {deep(maxGroupDepth + 1), false},
		"a million":       {bytes.Repeat(protowire.AppendTag(nil, 9, protowire.StartGroupType), 1_000_000), false},
		"not closed":      {deep(3)[:5], false},
		"closed as other": {append(protowire.AppendTag(nil, 9, protowire.StartGroupType), protowire.AppendTag(nil, 8, protowire.EndGroupType)...), false},
		"end alone":       {protowire.AppendTag(nil, 9, protowire.EndGroupType), false},
		"field 0 in it":   {group(9, []byte{0, 0}), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Request(c.body)
			require.Equal(t, c.ok, err == nil)
		})
	}
}

// Numbers need not be written in their shortest form, and end in ten bytes.
func TestVarints(t *testing.T) {
	// A point with a time, one attribute and flags, tags and lengths padded.
	padded := func(v uint64, n int) []byte {
		b := make([]byte, 0, n)
		for i := range n {
			c := byte(v) & 0x7f
			if v >>= 7; i < n-1 {
				c |= 0x80
			}
			b = append(b, c)
		}
		return b
	}
	point := func(n int) []byte {
		var b []byte
		for _, number := range []uint64{2, 3, 4, 6} {
			b = append(b, padded(number<<3|1, n)...)
			b = append(b, 1, 2, 3, 4, 5, 6, 7, byte(number))
		}
		b = append(append(append(b, padded(7<<3|2, n)...), padded(3, n)...), 0x0a, 1, 'k')
		b = append(append(append(b, padded(7<<3|2, n)...), padded(3, n)...), 0x0a, 1, 'l')
		b = append(append(b, padded(5<<3|2, n)...), padded(0, n)...)
		return append(append(b, padded(8<<3, n)...), padded(300, n)...)
	}
	want, _, err := views(nest(point(2), 1, 2, 2, 5, 1))
	require.Nil(t, err)
	require.Contains(t, want, `"k"=none "l"=none`)
	for n := 2; n <= 10; n++ {
		body := nest(point(n), 1, 2, 2, 5, 1)
		req, theirs := collector(body)
		require.NoError(t, theirs)
		got, _, err := views(body)
		require.Nil(t, err, "%d bytes", n)
		require.Equal(t, want, got)
		require.Equal(t, messages(req.Metrics()), got)
	}
	_, _, err = views(nest(point(11), 1, 2, 2, 5, 1))
	require.NotNil(t, err)

	for name, c := range map[string]struct {
		bytes []byte
		want  uint64
		after int
	}{
		"zero":           {[]byte{0}, 0, 1},
		"largest":        {[]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 1<<64 - 1, 10},
		"65 bits":        {[]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, 0, -1},
		"eleven bytes":   {[]byte{128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0}, 0, -1},
		"torn":           {[]byte{128, 128}, 0, -1},
		"nothing at all": {nil, 0, -1},
	} {
		v, after := uvarint(c.bytes, 0)
		require.Equal(t, c.after, after, name)
		if after > 0 {
			require.Equal(t, c.want, v, name)
		}
	}
	for _, v := range []uint64{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		require.Equal(t, protowire.SizeVarint(v), sizeUvarint(v))
		require.Equal(t, int32(protowire.DecodeZigZag(v&0xffffffff)), zigzag(v&0xffffffff))
	}
}

// Tags and lengths that lead out of the message.
func TestBadFrames(t *testing.T) {
	for name, body := range map[string][]byte{
		"field 0":                {0x02, 0},
		"field too large":        protowire.AppendVarint(nil, 1<<32|2),
		"length beyond the end":  {0x0a, 5, 1},
		"length of 2^63":         append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<63)...),
		"length of 2^64-1":       append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<64-1)...),
		"length that wraps int":  append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<64-3)...),
		"fixed64 without bytes":  {0x09, 1, 2, 3, 4, 5, 6, 7},
		"fixed32 without bytes":  {0x0d, 1, 2, 3},
		"varint without an end":  {0x78, 0x80},
		"tag without an end":     {0x80},
		"tag and nothing more":   {0x0a},
		"wire type 6":            {0x0e},
		"wire type 7":            {0x0f},
		"resource is no message": {0x08, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range append(places, place{}) {
				whole := nest(body, p.path...)
				_, _, err := views(whole)
				if name == "resource is no message" && len(p.path) > 0 {
					continue
				}
				require.NotNil(t, err, "%T", p.message)
				require.GreaterOrEqual(t, err.Offset(whole), 0)
				require.Less(t, err.Offset(whole), len(whole))
			}
		})
	}
}

// Attribute values nest 64 deep and no deeper, in every place that has
// attributes, whatever lists and maps they are made of.
func TestNesting(t *testing.T) {
	value := func(depth int, maps bool) []byte {
		b := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 7)
		for i := range depth {
			if maps && i%2 == 0 {
				b = nest(b, 6, 1, 2)
			} else {
				b = nest(b, 5, 1)
			}
		}
		return b
	}
	for _, p := range places {
		if _, ok := p.message.(*commonpb.KeyValue); !ok || len(p.path) == 6 && p.path[4] == 6 {
			continue
		}
		for _, maps := range []bool{false, true} {
			path := slices.Concat(p.path, []protowire.Number{2})
			body := nest(value(maxValueDepth, maps), path...)
			got, _, err := views(body)
			require.Nil(t, err, "%v", p.path)
			require.Contains(t, got, "int 7")

			body = nest(value(maxValueDepth+1, maps), path...)
			_, _, err = views(body)
			require.NotNil(t, err, "%v", p.path)
			require.Equal(t, "nested deeper than 64 levels in AnyValue", err.Error())
			require.GreaterOrEqual(t, err.Offset(body), 0)
		}
	}
	_, _, err := views(nest(value(2000, true), 1, 1, 1, 2))
	require.NotNil(t, err)
}

// Fields that come again: the last scalar and the last of a oneof count,
// messages that are not repeated are joined, lists go on.
func TestRepeatedFields(t *testing.T) {
	double := func(number protowire.Number, b byte) []byte {
		return append(protowire.AppendTag(nil, number, protowire.Fixed64Type), 0, 0, 0, 0, 0, 0, 0, b)
	}
	attribute := func(key string) []byte { return nest([]byte(key), 1) }
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	packed := func(number protowire.Number, values ...byte) (b []byte) {
		for _, v := range values {
			b = append(b, v, 0, 0, 0, 0, 0, 0, 0)
		}
		return nest(b, number)
	}
	fixed := func(number protowire.Number, v byte) []byte {
		return append(protowire.AppendTag(nil, number, protowire.Fixed64Type), v, 0, 0, 0, 0, 0, 0, 0)
	}
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"resource in two parts": {
			nest(cat(nest(attribute("a"), 1, 1), nest(nil, 2), nest(attribute("b"), 1, 1)), 1),
			`resource "a"=none "b"=none`,
		},
		"resource in three parts, one of them empty": {
			nest(cat(nest(nil, 1), nest(attribute("a"), 1, 1), nest(nil, 1), nest(attribute("b"), 1, 1)), 1),
			`resource "a"=none "b"=none`,
		},
		"scope in two parts": {
			nest(cat(nest([]byte("old"), 1, 1), nest(nil, 2), nest([]byte("new"), 1, 1)), 1, 2),
			`scope "" "new" "" `,
		},
		"metric name twice": {
			nest(cat(nest([]byte("old"), 1), nest([]byte("new"), 1)), 1, 2, 2),
			`metric "new"`,
		},
		"gauge, then sum": {
			nest(cat(nest(double(4, 1), 5, 1), nest(nil, 7)), 1, 2, 2),
			"metric \"\" \"\" \"\" 7 0 false \n",
		},
		"sum, then gauge": {
			nest(cat(nest(cat([]byte{0x10, 2, 0x18, 1}, nest(nil, 1)), 7), nest(double(4, 1), 5, 1)), 1, 2, 2),
			"metric \"\" \"\" \"\" 5 0 false \nnumber 2 100000000000000\n",
		},
		"gauge twice": {
			nest(cat(nest(double(4, 1), 5, 1), nest(double(4, 2), 5, 1)), 1, 2, 2),
			"5 0 false \nnumber 2 200000000000000\npoint 0 0 0 \n",
		},
		"temporality twice": {
			nest([]byte{0x10, 1, 0x10, 2}, 1, 2, 2, 7),
			`7 2 false`,
		},
		"temporality out of range": {
			nest([]byte{0x10, 2, 0x10, 3}, 1, 2, 2, 7),
			`7 0 false`,
		},
		"temporality of 64 bits": {
			nest(append([]byte{0x10}, protowire.AppendVarint(nil, 1<<32|2)...), 1, 2, 2, 7),
			`7 2 false`,
		},
		"int, then double": {
			nest(cat(double(6, 9), double(4, 1)), 1, 2, 2, 5, 1),
			"number 2 100000000000000\n",
		},
		"double, then int": {
			nest(cat(double(4, 1), double(6, 9)), 1, 2, 2, 5, 1),
			"number 1 900000000000000\n",
		},
		"value of an attribute twice": {
			nest(cat(nest([]byte("s"), 2, 1), nest([]byte{0x18, 5}, 2)), 1, 1, 1),
			`""=int 5`,
		},
		"kinds of one value": {
			nest([]byte{0x18, 5, 0x10, 1, 0x0a, 1, 'x'}, 1, 1, 1, 2),
			`""=string "x"`,
		},
		"string, then int": {
			nest([]byte{0x0a, 1, 'x', 0x18, 5}, 1, 1, 1, 2),
			`""=int 5`,
		},
		"buckets in chunks, packed and not": {
			nest(cat(packed(6, 1, 2), packed(7, 9), fixed(6, 3), packed(6), packed(6, 4, 5), fixed(7, 8)), 1, 2, 2, 9, 1),
			"counts [1 2 3 4 5] bounds [9 8]",
		},
		"exponential buckets in chunks and parts": {
			nest(cat(nest([]byte{0x08, 3, 0x12, 2, 1, 2}, 8), nest([]byte{0x10, 9, 0x12, 1, 7}, 9),
				nest([]byte{0x10, 3, 0x12, 0, 0x12, 2, 4, 5, 0x08, 4}, 8)), 1, 2, 2, 10, 1),
			"positive 2 [1 2 3 4 5] negative 0 [9 7]",
		},
		"attributes between other fields": {
			nest(cat(nest(attribute("a"), 7), fixed(3, 1), nest(attribute("b"), 7), nest(attribute("c"), 7), nest(nil, 5)), 1, 2, 2, 5, 1),
			`point 0 1 0 "a"=none "b"=none "c"=none `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := views(c.body)
			require.Nil(t, err)
			require.Contains(t, got, c.want)
		})
	}
}

// A oneof that does not count must be whole all the same, and a fault
// within joined parts is an error without a place.
func TestHiddenFaults(t *testing.T) {
	for name, c := range map[string]struct {
		body []byte
		at   bool
	}{
		"gauge that does not count":  {nest(append(nest([]byte{0x0a}, 5), nest(nil, 7)...), 1, 2, 2), true},
		"point that does not count":  {nest(append(nest([]byte{0x0a}, 5, 1), nest(nil, 7)...), 1, 2, 2), true},
		"second part of a resource":  {nest(append(nest([]byte{0x10, 1}, 1), nest([]byte{0x0a}, 1)...), 1), true},
		"attribute of a second part": {nest(append(nest([]byte{0x10, 1}, 1), nest([]byte{0x0a}, 1, 1)...), 1), false},
		"counts of a broken length":  {nest(nest([]byte{1, 2, 3}, 6), 1, 2, 2, 9, 1), true},
		"bounds of a broken length":  {nest(nest([]byte{1, 2, 3}, 7), 1, 2, 2, 9, 1), true},
		"buckets with a torn varint": {nest(nest([]byte{1, 0x80}, 8, 2), 1, 2, 2, 10, 1), true},
		"trace id of 15 bytes":       {nest(nest(make([]byte, 15), 5), 1, 2, 2, 5, 1, 5), true},
		"span id of 9 bytes":         {nest(nest(make([]byte, 9), 4), 1, 2, 2, 5, 1, 5), true},
		"attribute of an exemplar":   {nest([]byte{0x0a}, 1, 2, 2, 5, 1, 5, 7), true},
		"value inside an array":      {nest([]byte{0x0a}, 1, 1, 1, 2, 5, 1), true},
		"key inside a map":           {nest([]byte{0x08, 1}, 1, 1, 1, 2, 6, 1), true},
		"attribute of a point":       {nest([]byte{0x12, 1, 0x0a}, 1, 2, 2, 5, 1, 7), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := views(c.body)
			require.NotNil(t, err)
			at := err.Offset(c.body)
			require.Equal(t, c.at, at >= 0)
			require.Less(t, at, len(c.body))
		})
	}
}

// Joining attributes that other fields tear apart takes time and memory in
// proportion to them.
func TestManyPieces(t *testing.T) {
	var point []byte
	const pieces = 20_000
	for range pieces {
		point = append(point, nest([]byte("k"), 7, 1)...)
		point = append(point, 0x40, 1)
	}
	body := nest(point, 1, 2, 2, 5, 1)
	w := new(walker)
	require.Nil(t, w.request(body))
	require.Equal(t, pieces, w.steps-4)
	require.LessOrEqual(t, cap(w.point.attributes), 3*len(body))
	require.Greater(t, cap(w.point.attributes), MaxScratch)
	w.point.Trim()
	require.Nil(t, w.point.attributes)

	s := Scratch{counts: make([]byte, 0, MaxScratch), bounds: make([]byte, 0, MaxScratch+1), positive: make([]byte, MaxScratch+1), negative: make([]byte, MaxScratch+1)}
	s.Trim()
	require.NotNil(t, s.counts)
	require.Nil(t, s.bounds)
	require.Nil(t, s.positive)
	require.Nil(t, s.negative)
}

// Runs are closed: appending to one cannot reach its neighbour.
func TestRunsAreClosed(t *testing.T) {
	msg := sample(t)
	for m := range eachMetric(msg) {
		for _, p := range m.GetGauge().GetDataPoints() {
			raw, err := proto.Marshal(p)
			require.NoError(t, err)
			var n Number
			require.Nil(t, ParseNumber(raw, &n, new(Scratch)))
			require.Equal(t, len(n.Attributes), cap(n.Attributes), fmt.Sprint(p))
		}
	}
}
