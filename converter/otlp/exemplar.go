package otlp

// Exemplar is one example of a measurement.
//
//	fixed64 time_unix_nano = 2;
//	oneof value { double as_double = 3; sfixed64 as_int = 6; }
//	bytes span_id = 4;
//	bytes trace_id = 5;
//	repeated KeyValue filtered_attributes = 7;
type Exemplar struct {
	TimeNs          uint64
	Kind            ValueKind
	Bits            uint64
	SpanID, TraceID []byte
	Attributes      List
}

// ParseExemplar reads one child of Point.Exemplars.
func ParseExemplar(b []byte) (e Exemplar, err *Error) {
	const message = "Exemplar"
	e.Attributes = listOf(7)
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return e, fault(message, torn, b, tag)
		}
		want := uint8(wireFixed64)
		switch f.num {
		case 2, 3, 6:
		case 4, 5, 7:
			want = wireBytes
		default:
			continue
		}
		if f.typ != want {
			return e, fault(message, wrongType, b, tag)
		}
		switch f.num {
		case 2:
			e.TimeNs = f.val
		case 3:
			e.Kind, e.Bits = DoubleValue, f.val
		case 4:
			if n := f.to - f.from; n != 0 && n != 8 {
				return e, fault(message, "span_id is not 8 bytes long", b, tag)
			}
			e.SpanID = b[f.from:f.to:f.to]
		case 5:
			if n := f.to - f.from; n != 0 && n != 16 {
				return e, fault(message, "trace_id is not 16 bytes long", b, tag)
			}
			e.TraceID = b[f.from:f.to:f.to]
		case 6:
			e.Kind, e.Bits = IntValue, f.val
		case 7:
			e.Attributes.add(b, tag)
		}
	}
	return e, nil
}
