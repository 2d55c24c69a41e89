package remotewrite

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Protobuf, written forwards. A nested message is opened with one byte for its
// length and closed by patching it; the few that outgrow 127 bytes are moved.
// Fields of value zero are left out, as proto3 has it.

// Wire types.
const (
	wireVarint = 0
	wireI64    = 1
	wireBytes  = 2
)

// open starts field as a nested message and returns where its content begins.
func open(dst []byte, field uint32) ([]byte, int) {
	dst = binary.AppendUvarint(dst, uint64(field<<3|wireBytes))
	dst = append(dst, 0)
	return dst, len(dst)
}

// shut ends the message whose content begins at start.
func shut(dst []byte, start int) []byte {
	n := len(dst) - start
	if n < 1<<7 {
		dst[start-1] = byte(n)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	w := binary.PutUvarint(length[:], uint64(n))
	dst = append(dst, length[:w-1]...)
	copy(dst[start+w-1:], dst[start:start+n])
	copy(dst[start-1:], length[:w])
	return dst
}

// openLong and shutLong are open and shut for messages that have 128 bytes to
// 16 KiB as a rule: others are moved.
func openLong(dst []byte, field uint32) ([]byte, int) {
	dst = binary.AppendUvarint(dst, uint64(field<<3|wireBytes))
	dst = append(dst, 0, 0)
	return dst, len(dst)
}

func shutLong(dst []byte, start int) []byte {
	n := len(dst) - start
	if 1<<7 <= n && n < 1<<14 {
		dst[start-2], dst[start-1] = byte(n)|0x80, byte(n>>7)
		return dst
	}
	copy(dst[start-1:], dst[start:])
	return shut(dst[:len(dst)-1], start-1)
}

func appendTag(dst []byte, field uint32, wire uint32) []byte {
	return binary.AppendUvarint(dst, uint64(field<<3|wire))
}

func appendString(dst []byte, field uint32, s string) []byte {
	if s == "" {
		return dst
	}
	return appendStringAlways(dst, field, s)
}

// appendStringAlways writes the empty string too: elements of a list count.
func appendStringAlways(dst []byte, field uint32, s string) []byte {
	dst = appendTag(dst, field, wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendUint(dst []byte, field uint32, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendUintAlways(dst, field, v)
}

// appendUintAlways writes zero too: members of a oneof count.
func appendUintAlways(dst []byte, field uint32, v uint64) []byte {
	dst = appendTag(dst, field, wireVarint)
	return binary.AppendUvarint(dst, v)
}

func appendInt(dst []byte, field uint32, v int64) []byte {
	return appendUint(dst, field, uint64(v))
}

// appendSint writes v in zigzag.
func appendSint(dst []byte, field uint32, v int64) []byte {
	return appendUint(dst, field, zigzag(v))
}

// appendDouble leaves out positive zero alone: negative zero and every NaN
// arrive with their bits, among them the stale marker.
func appendDouble(dst []byte, field uint32, v float64) []byte {
	if math.Float64bits(v) == 0 {
		return dst
	}
	return appendDoubleAlways(dst, field, v)
}

func appendDoubleAlways(dst []byte, field uint32, v float64) []byte {
	dst = appendTag(dst, field, wireI64)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

func appendDoubles(dst []byte, field uint32, vs []float64) []byte {
	if len(vs) == 0 {
		return dst
	}
	dst = appendTag(dst, field, wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(vs)*8))
	for _, v := range vs {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

func appendSints(dst []byte, field uint32, vs []int64) []byte {
	if len(vs) == 0 {
		return dst
	}
	n := 0
	for _, v := range vs {
		n += uvarintLen(zigzag(v))
	}
	dst = appendTag(dst, field, wireBytes)
	dst = binary.AppendUvarint(dst, uint64(n))
	for _, v := range vs {
		dst = binary.AppendUvarint(dst, zigzag(v))
	}
	return dst
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }
