package otlp

import "math"

// ExponentialHistogram is an ExponentialHistogramDataPoint.
//
//	repeated KeyValue attributes = 1;
//	fixed64 start_time_unix_nano = 2;
//	fixed64 time_unix_nano = 3;
//	fixed64 count = 4;
//	optional double sum = 5;
//	sint32 scale = 6;
//	fixed64 zero_count = 7;
//	Buckets positive = 8;
//	Buckets negative = 9;
//	uint32 flags = 10;
//	repeated Exemplar exemplars = 11;
//	optional double min = 12;
//	optional double max = 13;
//	double zero_threshold = 14;
type ExponentialHistogram struct {
	Point
	Count              uint64
	Sum                float64
	HasSum             bool
	Scale              int32
	ZeroCount          uint64
	ZeroThreshold      float64
	Positive, Negative Buckets
}

// Tags of ExponentialHistogramDataPoint as single bytes.
const (
	expAttribute     = 1<<3 | wireBytes
	expStart         = 2<<3 | wireFixed64
	expTime          = 3<<3 | wireFixed64
	expCount         = 4<<3 | wireFixed64
	expSum           = 5<<3 | wireFixed64
	expScale         = 6<<3 | wireVarint
	expZeroCount     = 7<<3 | wireFixed64
	expPositive      = 8<<3 | wireBytes
	expNegative      = 9<<3 | wireBytes
	expMin           = 12<<3 | wireFixed64
	expMax           = 13<<3 | wireFixed64
	expZeroThreshold = 14<<3 | wireFixed64
)

// ParseExponentialHistogram reads one point of an exponential histogram into p.
func ParseExponentialHistogram(b []byte, p *ExponentialHistogram, s *Scratch) *Error {
	const message = "ExponentialHistogramDataPoint"
	*p = ExponentialHistogram{}
	p.Exemplars = listOf(11)
	var attributes, positive, negative run
	for i := 0; i < len(b); {
		tag := i
		switch b[i] {
		case expStart, expTime, expCount, expSum, expZeroCount, expMin, expMax, expZeroThreshold:
			if len(b)-i < 9 {
				return fault(message, torn, b, tag)
			}
			p.set(uint32(b[i]>>3), fixed64(b, i+1))
			i += 9
		case expAttribute:
			if i = repeated(b, i, expAttribute); i < 0 {
				return fault(message, torn, b, ^i)
			}
			attributes.add(b, tag, i, &s.attributes)
		case expPositive, expNegative:
			from, to := content(b, i+1)
			if to < 0 {
				return fault(message, torn, b, tag)
			}
			i = to
			whole := false
			if b[tag] == expPositive {
				whole = positive.addMessage(b, from, to, &s.positive)
			} else {
				whole = negative.addMessage(b, from, to, &s.negative)
			}
			if !whole {
				return fault("Buckets", torn, b, from)
			}
		case expScale:
			v, after := uvarint(b, i+1)
			if after < 0 {
				return fault(message, torn, b, tag)
			}
			p.Scale, i = zigzag(v), after
		default:
			var f field
			if i = next(b, i, &f); i < 0 {
				return fault(message, torn, b, tag)
			}
			// Fields that are rare, and tags that are not in their shortest form.
			want := uint8(wireFixed64)
			switch f.num {
			case 2, 3, 4, 5, 7, 12, 13, 14:
			case 1, 8, 9, 11:
				want = wireBytes
			case 6, 10:
				want = wireVarint
			default:
				continue
			}
			if f.typ != want {
				return fault(message, wrongType, b, tag)
			}
			switch f.num {
			case 1:
				attributes.add(b, tag, i, &s.attributes)
			case 6:
				p.Scale = zigzag(f.val)
			case 8:
				if !positive.addMessage(b, f.from, f.to, &s.positive) {
					return fault("Buckets", torn, b, f.from)
				}
			case 9:
				if !negative.addMessage(b, f.from, f.to, &s.negative) {
					return fault("Buckets", torn, b, f.from)
				}
			case 10:
				p.Flags = Flags(f.val)
			case 11:
				p.Exemplars.add(b, tag)
			default:
				p.set(f.num, f.val)
			}
		}
	}
	p.Attributes = attributes.bytes()
	if err := parseBuckets(positive.bytes(), &p.Positive); err != nil {
		return err
	}
	return parseBuckets(negative.bytes(), &p.Negative)
}

// set takes the value of a fixed 64-bit field.
func (p *ExponentialHistogram) set(num uint32, v uint64) {
	switch num {
	case 2:
		p.StartNs = v
	case 3:
		p.TimeNs = v
	case 4:
		p.Count = v
	case 5:
		p.Sum, p.HasSum = math.Float64frombits(v), true
	case 7:
		p.ZeroCount = v
	case 14:
		p.ZeroThreshold = math.Float64frombits(v)
	}
}
