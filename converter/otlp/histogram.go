package otlp

import (
	"math"
	"slices"
)

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

// Buckets are the buckets of one sign. Offset is the index of the first.
//
//	sint32 offset = 1;
//	repeated uint64 bucket_counts = 2;
type Buckets struct {
	Offset int32
	raw    []byte
}

// ParseExponentialHistogram reads one point of an exponential histogram into p.
func ParseExponentialHistogram(b []byte, p *ExponentialHistogram, s *Scratch) *Error {
	const message = "ExponentialHistogramDataPoint"
	*p = ExponentialHistogram{}
	p.Exemplars = listOf(11)
	var attributes, positive, negative run
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return fault(message, torn, b, tag)
		}
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
		case 2:
			p.StartNs = f.val
		case 3:
			p.TimeNs = f.val
		case 4:
			p.Count = f.val
		case 5:
			p.Sum, p.HasSum = math.Float64frombits(f.val), true
		case 6:
			p.Scale = zigzag(f.val)
		case 7:
			p.ZeroCount = f.val
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
		case 14:
			p.ZeroThreshold = math.Float64frombits(f.val)
		}
	}
	p.Attributes = attributes.bytes()
	if err := parseBuckets(positive.bytes(), &p.Positive); err != nil {
		return err
	}
	return parseBuckets(negative.bytes(), &p.Negative)
}

func parseBuckets(b []byte, p *Buckets) *Error {
	p.raw = b
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return fault("Buckets", torn, b, tag)
		}
		switch {
		case f.num == 1 && f.typ == wireVarint:
			p.Offset = zigzag(f.val)
		case f.num == 2 && f.typ == wireBytes:
			if at := tornVarint(b[:f.to], f.from); at >= 0 {
				return fault("Buckets", torn, b, at)
			}
		case f.num == 2 && f.typ == wireVarint:
		case f.num <= 2:
			return fault("Buckets", wrongType, b, tag)
		}
	}
	return nil
}

// continued has the highest bit of each byte, which says that a varint goes on.
const continued = 0x8080808080808080

// tornVarint returns where the first varint at or behind b[i] that is none
// starts, or -1 if all are. Counts below 128 are taken eight at a time.
func tornVarint(b []byte, i int) int {
	for i < len(b) {
		if len(b)-i >= 8 && fixed64(b, i)&continued == 0 {
			i += 8
			continue
		}
		at := i
		if _, i = uvarint(b, i); i < 0 {
			return at
		}
	}
	return -1
}

// AppendCounts appends the bucket counts to dst. They are at most as many as
// the bytes of the message.
func (p *Buckets) AppendCounts(dst []uint64) []uint64 {
	var f field
	for i := 0; i < len(p.raw); {
		if i = next(p.raw, i, &f); i < 0 {
			return dst
		}
		switch {
		case f.num == 2 && f.typ == wireVarint:
			dst = append(dst, f.val)
		case f.num == 2:
			dst = appendVarints(dst, p.raw[f.from:f.to])
		}
	}
	return dst
}

// appendVarints appends the values of packed varints that were checked. Counts
// below 128 are taken eight at a time.
func appendVarints(dst []uint64, b []byte) []uint64 {
	dst = slices.Grow(dst, len(b))
	n := len(dst)
	out := dst[:cap(dst)]
	for i := 0; i < len(b); {
		if len(b)-i >= 8 && len(out)-n >= 8 {
			if v := fixed64(b, i); v&continued == 0 {
				to := out[n : n+8 : n+8]
				to[0], to[1], to[2], to[3] = v&0x7f, v>>8&0x7f, v>>16&0x7f, v>>24&0x7f
				to[4], to[5], to[6], to[7] = v>>32&0x7f, v>>40&0x7f, v>>48&0x7f, v>>56
				i, n = i+8, n+8
				continue
			}
		}
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			if c := uint64(b[i]); c < 0x80 {
				v, i = v&0x7f|c<<7, i+1
			} else {
				v, i = uvarint(b, i-1)
			}
		}
		out[n] = v
		n++
	}
	return dst[:n]
}
