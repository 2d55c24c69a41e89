package otlp

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Wire types of the protobuf encoding.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireStart   = 3
	wireEnd     = 4
	wireFixed32 = 5
)

// maxField is the largest field number protobuf allows.
const maxField = 1<<29 - 1

// Error says that bytes are no message of the kind that was parsed.
type Error struct {
	// Message is the protobuf message that was being read.
	Message string
	// Msg says what is wrong.
	Msg string

	at *byte
}

// Error returns what is wrong and in which message.
func (e *Error) Error() string { return e.Msg + " in " + e.Message }

// Offset returns where in body the fault lies, or -1 when it lies in bytes
// that were joined elsewhere.
func (e *Error) Offset(body []byte) int {
	if len(body) == 0 || e.at == nil {
		return -1
	}
	return offset(body, e.at)
}

// offset returns where in b a byte stands, or -1 if it is not of b. Only the
// distance is used, never the address.
func offset(b []byte, at *byte) int {
	d := int64(uintptr(unsafe.Pointer(at))) - int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	if d < 0 || d > int64(len(b)) {
		return -1
	}
	return int(d)
}

func fault(message, msg string, b []byte, i int) *Error {
	if i >= len(b) {
		i = len(b) - 1
	}
	e := &Error{Message: message, Msg: msg}
	if i >= 0 {
		e.at = &b[i]
	}
	return e
}

// uvarint reads a varint at b[i:] and returns the index behind it, or -1 when
// it is torn or does not fit 64 bits.
func uvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return uvarintSlow(b, i)
}

//go:noinline
func uvarintSlow(b []byte, i int) (uint64, int) {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if i >= len(b) {
			return 0, -1
		}
		c := b[i]
		i++
		if shift == 63 && c > 1 {
			return 0, -1
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, -1
}

// fixed64 reads eight bytes; the caller has checked that they are there.
func fixed64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// zigzag decodes a sint32.
func zigzag(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(uint32(v)&1) }

// field is one field of a message: its number, its type, and where it lies.
// For wireBytes, b[from:to] is the content; for others from is where the value
// starts. Next is where the following field's tag starts.
type field struct {
	num      uint32
	typ      uint8
	from, to int
	val      uint64 // varint and fixed64 values
}

// next reads the field whose tag starts at b[i]. It returns the index behind
// the field, or -1.
func next(b []byte, i int, f *field) int {
	tag, i := uvarint(b, i)
	if i < 0 {
		return -1
	}
	num := tag >> 3
	if num == 0 || num > maxField {
		return -1
	}
	f.num, f.typ = uint32(num), uint8(tag&7)
	switch f.typ {
	case wireBytes:
		f.from, f.to = content(b, i)
		return f.to
	case wireFixed64:
		if len(b)-i < 8 {
			return -1
		}
		f.val, f.from, f.to = fixed64(b, i), i, i+8
		return i + 8
	case wireVarint:
		f.from = i
		f.val, i = uvarint(b, i)
		f.to = i
		return i
	case wireFixed32:
		if len(b)-i < 4 {
			return -1
		}
		f.from, f.to = i, i+4
		return i + 4
	case wireStart:
		return skipGroup(b, i, f.num)
	}
	return -1
}

// content returns where the content of a length-delimited field lies whose length
// stands at b[i]; to is -1 when that is torn.
func content(b []byte, i int) (from, to int) {
	if i < 0 || i+1 >= len(b) {
		return contentSlow(b, i)
	}
	n := int(b[i])
	if from = i + 1; n >= 0x80 {
		if b[i+1] >= 0x80 {
			return contentSlow(b, i)
		}
		n = n&0x7f | int(b[i+1])<<7
		from = i + 2
	}
	if n > len(b)-from {
		return 0, -1
	}
	return from, from + n
}

//go:noinline
func contentSlow(b []byte, i int) (from, to int) {
	n, from := uvarint(b, i)
	if from < 0 || n > uint64(len(b)-from) {
		return 0, -1
	}
	return from, from + int(n)
}

// maxGroupDepth bounds nested groups, which OTLP does not use at all.
const maxGroupDepth = 16

// skipGroup steps over a group whose start tag was just read.
func skipGroup(b []byte, i int, num uint32) int {
	var open [maxGroupDepth]uint32
	open[0] = num
	depth := 1
	for depth > 0 {
		tag, j := uvarint(b, i)
		if j < 0 || tag>>3 == 0 || tag>>3 > maxField {
			return -1
		}
		switch uint32(tag & 7) {
		case wireStart:
			if depth == maxGroupDepth {
				return -1
			}
			open[depth] = uint32(tag >> 3)
			depth++
			i = j
		case wireEnd:
			depth--
			if open[depth] != uint32(tag>>3) {
				return -1
			}
			i = j
		default:
			var f field
			if i = next(b, i, &f); i < 0 {
				return -1
			}
		}
	}
	return i
}

// sizeUvarint returns the length of v as a varint.
func sizeUvarint(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

const (
	torn      = "torn or malformed protobuf"
	wrongType = "field of the wrong wire type"
)
