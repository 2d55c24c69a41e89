package otlp

import "math"

// Frame is how the points of one metric lie on the wire. Whoever encodes them
// writes the same fields in the same order each time, so that all but the values
// of a point whose attributes are expected can be compared instead of scanned.
// The zero value fits nothing and is ready.
//
// A frame holds fixed 64-bit fields and packed ones, each with a tag of one byte,
// around one run of attributes. Points with exemplars or flags have none.
type Frame struct {
	fields     [maxFrameFields]frameField
	n          uint8
	before     uint8 // how many fields stand before the attributes
	head, tail uint16
	missed     uint8 // points that did not fit in a row
}

// A histogram has eight: two times, count, sum, min, max, counts and bounds.
const maxFrameFields = 8

// frameField is one field; at counts from the start of the point or from behind
// the attributes.
type frameField struct {
	at, size uint16
	tag      uint8
	length   uint8 // how many bytes its length takes, 0 for a fixed field
}

// Learn makes the frame that of a point that was parsed, if it has one: b are
// its bytes, attributes the run that was found in it. It does so rarely when
// points keep not fitting.
func (f *Frame) Learn(b, attributes []byte) {
	if f.missed++; f.missed&(f.missed-1) != 0 {
		return // Not the 1st, 2nd, 4th, 8th …
	}
	from := len(b)
	if len(attributes) > 0 {
		if from = offset(b, &attributes[0]); from < 0 || from > len(b)-len(attributes) {
			return // They were joined elsewhere.
		}
	}
	learned := Frame{missed: f.missed}
	if learned.scan(b[:from]) {
		learned.before, learned.head = learned.n, uint16(from)
		rest := b[from+len(attributes):]
		if learned.scan(rest) {
			learned.tail = uint16(len(rest))
			*f = learned
		}
	}
}

// scan appends the fields of b, unless there are others than a frame can hold.
func (f *Frame) scan(b []byte) bool {
	if len(b) > math.MaxUint16 {
		return false
	}
	for i := 0; i < len(b); {
		if b[i] >= 0x80 || int(f.n) == len(f.fields) {
			return false
		}
		s := frameField{tag: b[i], at: uint16(i)}
		switch b[i] & 7 {
		case wireFixed64:
			s.size = 8
		case wireBytes:
			from, to := content(b, i+1)
			if to < 0 {
				return false
			}
			s.size, s.length = uint16(to-from), uint8(from-i-1)
		default:
			return false
		}
		i += 1 + int(s.length) + int(s.size)
		f.fields[f.n] = s
		f.n++
	}
	return true
}

// fits reports whether the bytes of a point are of this frame, around the given
// run of attributes. Such bytes are whole: the run was parsed before, and every
// other byte belongs to a field that was compared.
func (f *Frame) fits(b []byte, attributes string) bool {
	head := int(f.head)
	behind := head + len(attributes)
	if f.n == 0 || len(b) != behind+int(f.tail) || string(b[head:behind]) != attributes {
		return false
	}
	part := b[:head]
	for i := range f.n {
		if i == f.before {
			part = b[behind:]
		}
		s := &f.fields[i&(maxFrameFields-1)]
		at := int(s.at)
		if at >= len(part) || part[at] != s.tag || s.length > 0 && !s.measures(part) {
			return false
		}
	}
	return true
}

// measures reports whether the length that stands in b is the field's.
func (s *frameField) measures(b []byte) bool {
	from, to := content(b, int(s.at)+1)
	return to-from == int(s.size) && from == int(s.at)+1+int(s.length)
}

// value returns where the value of field i starts in a point that fits.
func (f *Frame) value(i uint8, attributes int) int {
	s := &f.fields[i&(maxFrameFields-1)]
	at := int(s.at) + 1 + int(s.length)
	if i >= f.before {
		at += int(f.head) + attributes
	}
	return at
}

// Number is [ParseNumber] for a point that fits and has the given attributes.
// Otherwise it reports false, and p is left as it was.
func (f *Frame) Number(b []byte, attributes string, p *Number) bool {
	if !f.fits(b, attributes) {
		return false
	}
	p.StartNs, p.TimeNs, p.Flags, p.Exemplars, p.Kind, p.Bits = 0, 0, 0, List{}, NoValue, 0
	for i := range f.n {
		at := f.value(i, len(attributes))
		switch f.fields[i&(maxFrameFields-1)].tag {
		case numberStart:
			p.StartNs = fixed64(b, at)
		case numberTime:
			p.TimeNs = fixed64(b, at)
		case numberDouble:
			p.Kind, p.Bits = DoubleValue, fixed64(b, at)
		case numberInt:
			p.Kind, p.Bits = IntValue, fixed64(b, at)
		default:
			return false // Not what it was learned from.
		}
	}
	f.missed = 0
	p.Attributes = b[f.head : int(f.head)+len(attributes)]
	return true
}

// Histogram is [ParseHistogram] for a point that fits and has the given
// attributes. Otherwise it reports false.
func (f *Frame) Histogram(b []byte, attributes string, p *Histogram) bool {
	if !f.fits(b, attributes) {
		return false
	}
	*p = Histogram{}
	for i := range f.n {
		at := f.value(i, len(attributes))
		s := &f.fields[i&(maxFrameFields-1)]
		switch s.tag {
		case 2<<3 | wireFixed64:
			p.StartNs = fixed64(b, at)
		case 3<<3 | wireFixed64:
			p.TimeNs = fixed64(b, at)
		case 4<<3 | wireFixed64:
			p.Count = fixed64(b, at)
		case 5<<3 | wireFixed64:
			p.Sum, p.HasSum = math.Float64frombits(fixed64(b, at)), true
		case 11<<3 | wireFixed64, 12<<3 | wireFixed64: // min, max
		case 6<<3 | wireBytes:
			p.Counts = b[at : at+int(s.size) : at+int(s.size)]
		case 7<<3 | wireBytes:
			p.Bounds = b[at : at+int(s.size) : at+int(s.size)]
		default:
			return false // Exemplars, for one: they are to be counted.
		}
		if s.length > 0 && s.size%8 != 0 {
			return false
		}
	}
	f.missed = 0
	p.Attributes = b[f.head : int(f.head)+len(attributes)]
	return true
}
