package otlp

// Flags are DataPointFlags.
type Flags uint32

// NoRecordedValue says that the series ended: every property but attributes
// and times is to be ignored.
const NoRecordedValue Flags = 1

// ValueKind says which value of a oneof is set.
type ValueKind uint8

// The kinds of number values.
const (
	NoValue ValueKind = iota
	IntValue
	DoubleValue
)

// Point holds what all data points have.
type Point struct {
	// Attributes is the raw run of KeyValue fields, tags included.
	Attributes []byte
	// StartNs and TimeNs are in nanoseconds since 1970; 0 is unknown.
	StartNs, TimeNs uint64
	Flags           Flags
	Exemplars       List
}

// Number is a NumberDataPoint.
//
//	fixed64 start_time_unix_nano = 2;
//	fixed64 time_unix_nano = 3;
//	oneof value { double as_double = 4; sfixed64 as_int = 6; }
//	repeated Exemplar exemplars = 5;
//	repeated KeyValue attributes = 7;
//	uint32 flags = 8;
type Number struct {
	Point
	Kind ValueKind
	// Bits are the double's bits or the int's two's complement.
	Bits uint64
}

// Tags of NumberDataPoint as single bytes.
const (
	numberStart     = 2<<3 | wireFixed64
	numberTime      = 3<<3 | wireFixed64
	numberDouble    = 4<<3 | wireFixed64
	numberExemplar  = 5<<3 | wireBytes
	numberInt       = 6<<3 | wireFixed64
	numberAttribute = 7<<3 | wireBytes
	numberFlags     = 8<<3 | wireVarint
)

// ParseNumber reads one point of a gauge or sum into p.
func ParseNumber(b []byte, p *Number, s *Scratch) *Error {
	*p = Number{}
	p.Exemplars = listOf(5)
	var attributes run
	for i := 0; i < len(b); {
		tag := i
		switch b[i] {
		case numberStart, numberTime, numberDouble, numberInt:
			if len(b)-i < 9 {
				return fault("NumberDataPoint", torn, b, tag)
			}
			v := fixed64(b, i+1)
			switch b[i] {
			case numberStart:
				p.StartNs = v
			case numberTime:
				p.TimeNs = v
			case numberDouble:
				p.Kind, p.Bits = DoubleValue, v
			case numberInt:
				p.Kind, p.Bits = IntValue, v
			}
			i += 9
		case numberAttribute:
			if i = repeated(b, i, numberAttribute); i < 0 {
				return fault("NumberDataPoint", torn, b, ^i)
			}
			attributes.add(b, tag, i, &s.attributes)
		case numberExemplar:
			if _, i = content(b, i+1); i < 0 {
				return fault("NumberDataPoint", torn, b, tag)
			}
			p.Exemplars.add(b, tag)
		case numberFlags:
			v, after := uvarint(b, i+1)
			if after < 0 {
				return fault("NumberDataPoint", torn, b, tag)
			}
			p.Flags, i = Flags(v), after
		default:
			var f field
			if i = next(b, i, &f); i < 0 {
				return fault("NumberDataPoint", torn, b, tag)
			}
			// A tag need not be written in its shortest form.
			switch {
			case f.num == 0 || f.num == 1 || f.num > 8:
				continue
			case f.num == 8 && f.typ == wireVarint:
				p.Flags = Flags(f.val)
			case (f.num == 7 || f.num == 5) && f.typ == wireBytes:
				if f.num == 7 {
					attributes.add(b, tag, i, &s.attributes)
				} else {
					p.Exemplars.add(b, tag)
				}
			case f.typ != wireFixed64 || f.num == 5 || f.num >= 7:
				return fault("NumberDataPoint", wrongType, b, tag)
			case f.num == 2:
				p.StartNs = f.val
			case f.num == 3:
				p.TimeNs = f.val
			case f.num == 4:
				p.Kind, p.Bits = DoubleValue, f.val
			case f.num == 6:
				p.Kind, p.Bits = IntValue, f.val
			}
		}
	}
	p.Attributes = attributes.bytes()
	return nil
}
