package otlp

import "math"

// maxValueDepth is how deep attribute values may nest in the binary encoding:
// lists and maps hold values without bound there, and recursion must end.
const maxValueDepth = 64

// Attributes iterates a raw run of KeyValue fields, as in Point.Attributes, or
// the fields of a [List] of attributes one by one through [ParseKeyValue].
type Attributes struct {
	b []byte
	i int
}

// EachOf returns an iterator over a raw run, whose frames were checked when
// its point was parsed.
func EachOf(run []byte) Attributes { return Attributes{b: run} }

// Next returns the next attribute; ok is false behind the last.
func (a *Attributes) Next() (key []byte, v Value, ok bool, err *Error) {
	if a.i >= len(a.b) {
		return nil, Value{}, false, nil
	}
	var f field
	tag := a.i
	if a.i = next(a.b, a.i, &f); a.i < 0 || f.typ != wireBytes {
		a.i = len(a.b)
		return nil, Value{}, false, fault("KeyValue", torn, a.b, tag)
	}
	key, v, err = ParseKeyValue(a.b[f.from:f.to:f.to])
	return key, v, err == nil, err
}

// ParseKeyValue reads one attribute.
//
//	string key = 1;
//	AnyValue value = 2;
func ParseKeyValue(b []byte) (key []byte, v Value, err *Error) {
	return parseKeyValue(b, 0)
}

func parseKeyValue(b []byte, depth int) (key []byte, v Value, err *Error) {
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return nil, v, fault("KeyValue", torn, b, tag)
		}
		if f.num > 2 {
			continue
		}
		if f.typ != wireBytes {
			return nil, v, fault("KeyValue", wrongType, b, tag)
		}
		if f.num == 1 {
			key = b[f.from:f.to:f.to]
			continue
		}
		if err := v.merge(b[f.from:f.to:f.to], depth); err != nil {
			return nil, v, err
		}
	}
	return key, v, nil
}

// Kind says which field of an AnyValue is set.
type Kind uint8

// The kinds of attribute values. EmptyKind is a value without a field.
const (
	EmptyKind  Kind = 0
	StringKind Kind = 1
	BoolKind   Kind = 2
	IntKind    Kind = 3
	DoubleKind Kind = 4
	ArrayKind  Kind = 5
	MapKind    Kind = 6
	BytesKind  Kind = 7
)

// Value is an AnyValue.
//
//	oneof value {
//	  string string_value = 1; bool bool_value = 2; int64 int_value = 3;
//	  double double_value = 4; ArrayValue array_value = 5;
//	  KeyValueList kvlist_value = 6; bytes bytes_value = 7;
//	}
type Value struct {
	Kind  Kind
	Bytes []byte // strings and bytes; the raw message of arrays and maps
	// Members is how many values an array or a map holds, at all depths.
	Members int
	bits    uint64
}

// Bool returns the value of a BoolKind.
func (v Value) Bool() bool { return v.bits != 0 }

// Int returns the value of an IntKind.
func (v Value) Int() int64 { return int64(v.bits) }

// Double returns the value of a DoubleKind.
func (v Value) Double() float64 { return math.Float64frombits(v.bits) }

// merge reads an AnyValue over v: of several fields the last counts. Arrays and
// maps are checked to the bottom.
func (v *Value) merge(b []byte, depth int) *Error {
	if depth > maxValueDepth {
		return fault("AnyValue", "nested deeper than 64 levels", b, 0)
	}
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return fault("AnyValue", torn, b, tag)
		}
		if f.num > 7 {
			continue
		}
		want := uint8(wireBytes)
		switch f.num {
		case 2, 3:
			want = wireVarint
		case 4:
			want = wireFixed64
		}
		if f.typ != want {
			return fault("AnyValue", wrongType, b, tag)
		}
		*v = Value{Kind: Kind(f.num), bits: f.val}
		if want != wireBytes {
			continue
		}
		v.Bytes, v.bits = b[f.from:f.to:f.to], 0
		if v.Kind == ArrayKind || v.Kind == MapKind {
			c := v.Children()
			for c.more() {
				_, m, err := c.next(depth + 1)
				if err != nil {
					return err
				}
				v.Members += 1 + m.Members
			}
		}
	}
	return nil
}

// Children iterates the members of an array or a map.
type Children struct {
	b    []byte
	i    int
	keys bool
}

// Children returns an iterator over the members of an ArrayKind or MapKind.
//
//	message ArrayValue { repeated AnyValue values = 1; }
//	message KeyValueList { repeated KeyValue values = 1; }
func (v Value) Children() Children {
	return Children{b: v.Bytes, keys: v.Kind == MapKind}
}

// Next returns the next member, with its key in a map. Values that a Parse
// function returned were checked, so there is no error left to find.
func (c *Children) Next() (key []byte, v Value, ok bool) {
	if !c.more() {
		return nil, Value{}, false
	}
	key, v, err := c.next(0)
	return key, v, err == nil
}

// more steps over fields that are no members.
func (c *Children) more() bool {
	for c.i < len(c.b) {
		var f field
		after := next(c.b, c.i, &f)
		if after < 0 || f.num == 1 {
			return true
		}
		c.i = after
	}
	return false
}

func (c *Children) next(depth int) (key []byte, v Value, err *Error) {
	var f field
	tag := c.i
	if c.i = next(c.b, c.i, &f); c.i < 0 {
		c.i = len(c.b)
		return nil, v, fault("AnyValue", torn, c.b, tag)
	}
	if f.typ != wireBytes {
		return nil, v, fault("AnyValue", wrongType, c.b, tag)
	}
	content := c.b[f.from:f.to:f.to]
	if c.keys {
		return parseKeyValue(content, depth)
	}
	err = v.merge(content, depth)
	return nil, v, err
}
