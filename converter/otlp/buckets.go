package otlp

import "slices"

// Buckets are the buckets of one sign. Offset is the index of the first.
//
//	sint32 offset = 1;
//	repeated uint64 bucket_counts = 2;
type Buckets struct {
	Offset int32
	raw    []byte
	// packed are the counts when they stand in one packed field, as senders write
	// them.
	packed []byte
	parts  int // fields with counts
}

func parseBuckets(b []byte, p *Buckets) *Error {
	p.raw = b
	var f field
	for i := 0; i < len(b); {
		tag := i
		if b[i] == 2<<3|wireBytes {
			from, to := content(b, i+1)
			if to < 0 {
				return fault("Buckets", torn, b, tag)
			}
			if at := tornVarint(b[:to], from); at >= 0 {
				return fault("Buckets", torn, b, at)
			}
			p.packed, i = b[from:to], to
			p.parts++
			continue
		}
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
			p.parts += 2 // Its tag is not in its shortest form: it is searched for.
		case f.num == 2 && f.typ == wireVarint:
			p.parts += 2
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
	if p.parts == 1 {
		return appendVarints(dst, p.packed)
	}
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
