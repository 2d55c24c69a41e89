package otlp

import (
	"fmt"
	"unicode/utf8"
)

// jsonString is a string of the document, checked but not unescaped.
type jsonString struct {
	raw     []byte // between the quotes
	escaped bool   // raw holds at least one backslash
}

// space skips whitespace.
func (t *jsonTranscoder) space() {
	for t.pos < len(t.src) {
		switch t.src[t.pos] {
		case ' ', '\n', '\t', '\r':
			t.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end, where 0 starts nothing either.
func (t *jsonTranscoder) peek() byte {
	if t.pos < len(t.src) {
		return t.src[t.pos]
	}
	return 0
}

// enter opens an object or array.
func (t *jsonTranscoder) enter(c byte, want string) *JSONError {
	if t.peek() != c {
		return t.unexpected(want)
	}
	if t.depth == MaxDepth {
		return t.fault(t.pos, fmt.Sprintf("objects and arrays nested more than %d levels deep", MaxDepth))
	}
	t.depth++
	t.pos++
	return nil
}

// leave closes it; the next byte is its bracket.
func (t *jsonTranscoder) leave() {
	t.depth--
	t.pos++
}

// more stands behind an element. It reports whether another one follows, whose
// first byte is then next, and otherwise leaves the object or array.
func (t *jsonTranscoder) more(end byte) (bool, *JSONError) {
	t.space()
	switch t.peek() {
	case ',':
		t.pos++
		t.space()
		return true, nil
	case end:
		t.leave()
		return false, nil
	}
	if end == '}' {
		return false, t.unexpected(`"," or "}"`)
	}
	return false, t.unexpected(`"," or "]"`)
}

// name reads a field's name and the colon. The value's first byte is next.
func (t *jsonTranscoder) name() (jsonString, *JSONError) {
	s, err := t.string("a field's name")
	if err != nil {
		return s, err
	}
	if t.space(); t.peek() != ':' {
		return s, t.unexpected(`":"`)
	}
	t.pos++
	t.space()
	return s, nil
}

// string reads a string; its opening quote should be next.
func (t *jsonTranscoder) string(want string) (jsonString, *JSONError) {
	if t.peek() != '"' {
		return jsonString{}, t.unexpected(want)
	}
	t.pos++
	from := t.pos
	var high byte // gathers the top bit of what is not ASCII
	escaped := false
	for i := from; i < len(t.src); i++ {
		c := t.src[i]
		if jsonPlain[c] {
			high |= c
			continue
		}
		switch {
		case c == '"':
			raw := t.src[from:i:i]
			if high >= utf8.RuneSelf && !utf8.Valid(raw) {
				return jsonString{}, t.fault(from+jsonInvalidUTF8(raw), "string that is not UTF-8")
			}
			t.pos = i + 1
			return jsonString{raw: raw, escaped: escaped}, nil
		case c == '\\':
			n := jsonEscapeLen(t.src[i:])
			if n == 0 {
				return jsonString{}, t.fault(i, "invalid escape sequence")
			}
			escaped = true
			i += n - 1
		default:
			return jsonString{}, t.fault(i, "control character in a string")
		}
	}
	return jsonString{}, t.fault(len(t.src), "string without end")
}

// jsonPlain tells the bytes that a string may hold as they are.
var jsonPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return plain
}()

// jsonInvalidUTF8 returns where the first byte that is not UTF-8 lies.
func jsonInvalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// jsonEscapeLen returns the length of the escape sequence that b starts with,
// or 0 when it is none.
func jsonEscapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := jsonHex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

// literal reads null, true or false.
func (t *jsonTranscoder) literal(word string) *JSONError {
	if !t.at(word) {
		return t.unexpected("a value")
	}
	t.pos += len(word)
	return nil
}

// at reports whether word is next.
func (t *jsonTranscoder) at(word string) bool {
	end := t.pos + len(word)
	return end <= len(t.src) && string(t.src[t.pos:end]) == word
}

// skip steps over a value of any type and checks that it is JSON.
func (t *jsonTranscoder) skip() *JSONError {
	switch c := t.peek(); c {
	case '"':
		_, err := t.string("a string")
		return err
	case 't':
		return t.literal("true")
	case 'f':
		return t.literal("false")
	case 'n':
		return t.literal("null")
	case '{', '[':
		return t.skipInside(c)
	}
	n := jsonNumberLen(t.src[t.pos:])
	if n == 0 {
		return t.unexpected("a value")
	}
	t.pos += n
	return nil
}

// skipInside steps over an object or array.
func (t *jsonTranscoder) skipInside(open byte) *JSONError {
	end := open + 2 // '{' to '}', '[' to ']'
	if err := t.enter(open, "a value"); err != nil {
		return err
	}
	if t.space(); t.peek() == end {
		t.leave()
		return nil
	}
	for {
		if open == '{' {
			if _, err := t.name(); err != nil {
				return err
			}
		}
		if err := t.skip(); err != nil {
			return err
		}
		if more, err := t.more(end); err != nil || !more {
			return err
		}
	}
}

// fault returns an error at an offset of the document.
func (t *jsonTranscoder) fault(at int, msg string) *JSONError {
	return &JSONError{Offset: at, Msg: msg}
}

// unexpected returns the error for what is next when want should be.
func (t *jsonTranscoder) unexpected(want string) *JSONError {
	var found string
	switch c := t.peek(); {
	case t.pos >= len(t.src):
		found = "the end"
	case c == '"':
		found = "a string"
	case c == '{':
		found = "an object"
	case c == '[':
		found = "an array"
	case t.at("null"):
		found = "null"
	case t.at("true"), t.at("false"):
		found = "a boolean"
	case jsonNumberLen(t.src[t.pos:]) > 0:
		found = "a number"
	default:
		r, _ := utf8.DecodeRune(t.src[t.pos:])
		found = fmt.Sprintf("%q", r)
	}
	return t.fault(t.pos, fmt.Sprintf("expected %s, found %s", want, found))
}
