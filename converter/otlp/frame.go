package otlp

import (
	"encoding/binary"
	"math"
)

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
	missed     uint8 // points that did not fit in a row
	kind       ValueKind
	histogram  bool
	hasSum     bool
	head, tail uint16 // bytes before and behind the attributes
}

// A histogram has eight: two times, count, sum, min, max, counts and bounds.
const maxFrameFields = 8

// frameField is one field of a frame.
type frameField struct {
	at     uint16 // from the start of the point, without the attributes
	behind uint16 // all ones for a field behind the attributes, else zero
	// length is what stands behind the tag of a packed field under mask, which is
	// zero for a fixed one.
	length, mask uint16
	size         uint16 // bytes of the value
	tag          uint8
	slot         uint8 // which value of the point it is
}

// Slots of values. Those that nobody reads are one.
const (
	slotStart = iota
	slotTime
	slotValue // of a number; the count of a histogram
	slotSum
	slotCounts
	slotBounds
	slotUnread
)

// Learn makes the frame that of a point that was parsed, if it has one: b are
// its bytes, attributes the run that was found in it, histogram says of which
// kind it is. It does so rarely when points keep not fitting.
func (f *Frame) Learn(b, attributes []byte, histogram bool) {
	if f.missed++; f.missed&(f.missed-1) != 0 {
		return // Not the 1st, 2nd, 4th, 8th …
	}
	from := len(b)
	if len(attributes) > 0 {
		if from = offset(b, &attributes[0]); from < 0 || from > len(b)-len(attributes) {
			return // They were joined elsewhere.
		}
	}
	learned := Frame{missed: f.missed, histogram: histogram}
	rest := b[from+len(attributes):]
	if len(b)-len(attributes) > math.MaxUint16 || !learned.scan(b[:from], 0) || !learned.scan(rest, from) {
		return
	}
	learned.head, learned.tail = uint16(from), uint16(len(rest))
	for i := range learned.n {
		if int(learned.fields[i].at) >= from {
			learned.fields[i].behind = math.MaxUint16
		}
	}
	*f = learned
}

// scan appends the fields of b, which start at base, unless there are others
// than a frame can hold.
func (f *Frame) scan(b []byte, base int) bool {
	for i := 0; i < len(b); {
		if b[i] >= 0x80 || int(f.n) == len(f.fields) {
			return false
		}
		s := frameField{tag: b[i], at: uint16(base + i)}
		switch b[i] & 7 {
		case wireFixed64:
			s.size = 8
			i += 9
		case wireBytes:
			from, to := content(b, i+1)
			if to < 0 || from-i-1 > 2 {
				return false
			}
			s.size, s.mask = uint16(to-from), 0xff
			if from-i-1 == 2 {
				s.mask = 0xffff
			}
			s.length = binary.LittleEndian.Uint16(b[i+1:]) & s.mask
			i = to
		default:
			return false
		}
		if !f.place(&s) {
			return false
		}
		f.fields[f.n] = s
		f.n++
	}
	return true
}

// place finds the slot of a field. Each may be there once.
func (f *Frame) place(s *frameField) bool {
	s.slot = slotUnread
	if f.histogram {
		switch s.tag {
		case 2<<3 | wireFixed64:
			s.slot = slotStart
		case 3<<3 | wireFixed64:
			s.slot = slotTime
		case 4<<3 | wireFixed64:
			s.slot = slotValue
		case 5<<3 | wireFixed64:
			s.slot, f.hasSum = slotSum, true
		case 6<<3 | wireBytes:
			s.slot = slotCounts
		case 7<<3 | wireBytes:
			s.slot = slotBounds
		case 11<<3 | wireFixed64, 12<<3 | wireFixed64: // min, max
			return true
		default:
			return false
		}
		if s.mask != 0 && (s.size%8 != 0 || s.size == 0) {
			return false
		}
	} else {
		switch s.tag {
		case numberStart:
			s.slot = slotStart
		case numberTime:
			s.slot = slotTime
		case numberDouble:
			s.slot, f.kind = slotValue, DoubleValue
		case numberInt:
			s.slot, f.kind = slotValue, IntValue
		default:
			return false
		}
	}
	for _, other := range f.fields[:f.n] {
		if other.slot == s.slot {
			return false
		}
	}
	return true
}

// match reads the values of a point that fits: all bytes but those of values
// are compared, so that what fits is whole. It returns where the packed ones
// start.
func (f *Frame) match(b []byte, attributes string, values *[8]uint64) bool {
	head := int(f.head)
	behind := head + len(attributes)
	if f.n == 0 || len(b) != behind+int(f.tail) || string(b[head:behind]) != attributes {
		return false
	}
	for i := range f.n {
		s := &f.fields[i&(maxFrameFields-1)]
		at := int(s.at)
		if s.behind != 0 {
			at += len(attributes)
		}
		field := b[at:]
		if len(field) < 9 || field[0] != s.tag {
			return false
		}
		if s.mask == 0 {
			values[s.slot&7] = binary.LittleEndian.Uint64(field[1:])
			continue
		}
		if binary.LittleEndian.Uint16(field[1:])&s.mask != s.length {
			return false
		}
		values[s.slot&7] = uint64(at) + 2 + uint64(s.mask>>8&1)
	}
	f.missed = 0
	return true
}

// Reading is what the points of a frame say: those of numbers and of histograms.
type Reading struct {
	StartNs, TimeNs uint64
	// Kind and Bits are a number's value, Count and Sum a histogram's.
	Kind           ValueKind
	HasSum         bool
	Bits, Count    uint64
	Sum            float64
	Counts, Bounds Fixed64s
}

// Read reads a point that fits and has the given attributes, as a Parse function
// would. Otherwise it reports false.
func (f *Frame) Read(b []byte, attributes string, p *Reading) bool {
	var v [8]uint64
	if !f.match(b, attributes, &v) {
		return false
	}
	p.StartNs, p.TimeNs, p.Kind, p.Bits = v[slotStart], v[slotTime], f.kind, v[slotValue]
	if f.histogram {
		p.Count, p.Sum, p.HasSum = v[slotValue], math.Float64frombits(v[slotSum]), f.hasSum
		p.Counts, p.Bounds = f.packed(b, slotCounts, &v), f.packed(b, slotBounds, &v)
	}
	return true
}

// packed returns the values of a packed field, of which v says where they start.
func (f *Frame) packed(b []byte, slot uint8, v *[8]uint64) Fixed64s {
	for i := range f.n {
		if s := &f.fields[i&(maxFrameFields-1)]; s.slot == slot {
			from := int(v[slot&7])
			to := from + int(s.size)
			return b[from:to:to]
		}
	}
	return nil
}
