package otlp

import "github.com/otlpgw/otlpgw/pool"

// List is the children of one kind in a message: all length-delimited fields
// with one number, wherever they stand between other fields. Its frames were
// checked when the message was parsed; the children's own were not.
type List struct {
	b   []byte
	i   int // a field starts here, at the next child or before it
	n   int
	tag byte
}

// listOf returns an empty list of the fields with a number.
func listOf(num uint8) List { return List{tag: num<<3 | wireBytes} }

// add notes a child while the parent is scanned.
func (l *List) add(b []byte, tag int) {
	if l.n == 0 {
		l.b, l.i = b, tag
	}
	l.n++
}

// Len returns how many children are left.
func (l *List) Len() int { return l.n }

// Next returns the bytes of the next child, or false behind the last. The
// bytes point into the body.
func (l *List) Next() ([]byte, bool) {
	if l.n == 0 {
		return nil, false
	}
	if b, i := l.b, l.i; b[i] == l.tag {
		from, to := content(b, i+1)
		if to >= 0 {
			l.i = to
			l.n--
			return b[from:to:to], true
		}
	}
	return l.search()
}

// search is Next for a child that stands behind other fields, or whose tag is
// not written in its shortest form.
func (l *List) search() ([]byte, bool) {
	var f field
	for {
		i := next(l.b, l.i, &f)
		if i < 0 {
			l.n = 0
			return nil, false
		}
		l.i = i
		if f.num == uint32(l.tag>>3) && f.typ == wireBytes {
			l.n--
			return l.b[f.from:f.to:f.to], true
		}
	}
}

// repeated steps over a run of length-delimited fields with the same one-byte
// tag, the first of which stands at b[i]. It returns the index behind them, or
// the complement of where the one that is torn starts.
func repeated(b []byte, i int, tag byte) int {
	for i < len(b) && b[i] == tag {
		n := 0
		if len(b)-i > 2 {
			n = int(b[i+1])
		}
		if n < 0x80 && n <= len(b)-i-2 && n > 0 {
			i += 2 + n
			continue
		}
		_, to := contentSlow(b, i+1)
		if to < 0 {
			return ^i
		}
		i = to
	}
	return i
}

// Scratch joins fields that arrived in pieces. Its zero value is ready. What a
// Parse function joined in it is valid until the next Parse with the same
// Scratch, so nested messages take one each.
type Scratch struct {
	attributes, counts, bounds, positive, negative []byte
}

// MaxScratch is the largest scratch buffer kept between requests, in bytes:
// senders that split fields are rare, and one hostile request must not pin its
// size.
const MaxScratch = 64 << 10

// Trim drops the buffers that outgrew [MaxScratch].
func (s *Scratch) Trim() {
	for _, b := range [...]*[]byte{&s.attributes, &s.counts, &s.bounds, &s.positive, &s.negative} {
		if pool.Poisoned {
			pool.Poison((*b)[:cap(*b)])
		}
		if cap(*b) > MaxScratch {
			*b = nil
		}
	}
}

// run is one piece of a message, or several joined: behind one another they
// mean the same, whether they are repeated fields with their tags or the
// contents of one submessage.
type run struct {
	b      []byte
	joined bool
}

// add appends b[from:to]. The first piece is a view into b, and so are those
// that follow it without a gap; others are copied to buf.
func (r *run) add(b []byte, from, to int, buf *[]byte) {
	switch {
	case len(r.b) == 0:
		r.b = b[from:to:len(b)]
	case r.joined:
		*buf = append(*buf, b[from:to]...)
		r.b = *buf
	case cap(r.b) == len(b)-from+len(r.b):
		r.b = r.b[: len(r.b)+to-from : cap(r.b)]
	default:
		*buf = append(append((*buf)[:0], r.b...), b[from:to]...)
		r.b, r.joined = *buf, true
	}
}

// addMessage is add for the content of a submessage. Each part of one must be
// whole by itself, although only their sum is read: it reports false for a torn
// one.
func (r *run) addMessage(b []byte, from, to int, buf *[]byte) bool {
	if len(r.b) > 0 && !(whole(b[from:to]) && (r.joined || whole(r.b))) {
		return false
	}
	r.add(b, from, to, buf)
	return true
}

// whole reports whether b is a run of whole fields.
func whole(b []byte) bool {
	var f field
	for i := 0; i < len(b); {
		if i = next(b, i, &f); i < 0 {
			return false
		}
	}
	return true
}

// bytes returns the run, closed to whoever appends.
func (r *run) bytes() []byte { return r.b[:len(r.b):len(r.b)] }
