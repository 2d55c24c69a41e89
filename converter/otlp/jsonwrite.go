package otlp

import "encoding/binary"

// open starts a length-delimited field and returns where its content starts.
// The length gets one byte for now; most contents need no more.
func (t *jsonTranscoder) open(f *jsonField) int {
	t.dst = append(t.dst, f.num<<3|2, 0)
	return len(t.dst)
}

// close writes the length of what follows frame. A content of 128 bytes or more
// moves up to make room, so that every length is minimal: each byte moves at
// most once per level that encloses it.
func (t *jsonTranscoder) close(frame int) {
	n := len(t.dst) - frame
	if n < 0x80 {
		t.dst[frame-1] = byte(n)
		return
	}
	var length [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(length[:], uint64(n))
	t.dst = append(t.dst, length[1:size]...) // only the room matters
	copy(t.dst[frame-1+size:], t.dst[frame:frame+n])
	copy(t.dst[frame-1:], length[:size])
}

// number appends the value of a number, without tag.
func (t *jsonTranscoder) number(kind jsonKind, bits uint64) {
	if kind < jsonKindFixed64 {
		t.dst = binary.AppendUvarint(t.dst, bits)
		return
	}
	t.dst = binary.LittleEndian.AppendUint64(t.dst, bits)
}

// text reads a string and appends it as field f.
func (t *jsonTranscoder) text(f *jsonField, keep bool) *JSONError {
	s, err := t.string("a string")
	if err != nil {
		return err
	}
	if len(s.raw) == 0 && !keep {
		return nil
	}
	if s.escaped {
		frame := t.open(f)
		t.dst = jsonAppendUnescaped(t.dst, s.raw)
		t.close(frame)
		return nil
	}
	t.dst = append(t.dst, f.tag())
	t.dst = binary.AppendUvarint(t.dst, uint64(len(s.raw)))
	t.dst = append(t.dst, s.raw...)
	return nil
}

// binary reads a string that stands for bytes and appends them as field f.
func (t *jsonTranscoder) binary(f *jsonField, keep bool) *JSONError {
	at := t.pos
	s, err := t.string("a string")
	if err != nil {
		return err
	}
	if len(s.raw) == 0 && !keep {
		return nil
	}
	frame := t.open(f)
	if s.escaped {
		t.dst = jsonAppendUnescaped(t.dst, s.raw)
	} else {
		t.dst = append(t.dst, s.raw...)
	}
	// The bytes are fewer than the digits and replace them in place.
	n, fault := jsonDecode(f.kind, t.dst[frame:])
	if fault != "" {
		return t.fault(at, fault)
	}
	t.dst = t.dst[:frame+n]
	t.close(frame)
	return nil
}
