package otlp

import "math"

// Histogram is a HistogramDataPoint.
//
//	fixed64 start_time_unix_nano = 2;
//	fixed64 time_unix_nano = 3;
//	fixed64 count = 4;
//	optional double sum = 5;
//	repeated fixed64 bucket_counts = 6;
//	repeated double explicit_bounds = 7;
//	repeated Exemplar exemplars = 8;
//	repeated KeyValue attributes = 9;
//	uint32 flags = 10;
//	optional double min = 11;
//	optional double max = 12;
type Histogram struct {
	Point
	Count  uint64
	Sum    float64
	HasSum bool
	Counts Fixed64s
	Bounds Fixed64s
}

// Fixed64s are packed little-endian 64-bit values.
type Fixed64s []byte

// Len returns how many values there are.
func (p Fixed64s) Len() int { return len(p) / 8 }

// At returns value i.
func (p Fixed64s) At(i int) uint64 { return fixed64(p, i*8) }

// Float returns value i as a double.
func (p Fixed64s) Float(i int) float64 { return math.Float64frombits(p.At(i)) }

// ParseHistogram reads one point of an explicit-bucket histogram into p.
func ParseHistogram(b []byte, p *Histogram, s *Scratch) *Error {
	const message = "HistogramDataPoint"
	*p = Histogram{}
	p.Exemplars = listOf(8)
	var attributes, counts, bounds run
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return fault(message, torn, b, tag)
		}
		want := uint8(wireFixed64)
		switch f.num {
		case 2, 3, 4, 5, 11, 12:
		case 6, 7:
			// Packed is one field of bytes; a decoder takes both forms.
			if f.typ == wireBytes {
				if (f.to-f.from)%8 != 0 {
					return fault(message, "packed field of a broken length", b, tag)
				}
				want = wireBytes
			}
		case 8, 9:
			want = wireBytes
		case 10:
			want = wireVarint
		default:
			continue
		}
		if f.typ != want {
			return fault(message, wrongType, b, tag)
		}
		switch f.num {
		case 2:
			p.StartNs = f.val
		case 3:
			p.TimeNs = f.val
		case 4:
			p.Count = f.val
		case 5:
			p.Sum, p.HasSum = math.Float64frombits(f.val), true
		case 6:
			counts.add(b, f.from, f.to, &s.counts)
		case 7:
			bounds.add(b, f.from, f.to, &s.bounds)
		case 8:
			p.Exemplars.add(b, tag)
		case 9:
			attributes.add(b, tag, i, &s.attributes)
		case 10:
			p.Flags = Flags(f.val)
		}
	}
	p.Attributes = attributes.bytes()
	p.Counts, p.Bounds = counts.bytes(), bounds.bytes()
	return nil
}
