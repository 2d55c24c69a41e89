package otlp

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

// jsonRange is what the integer kinds hold: at most max, and at least -min.
var jsonRange = [...]struct {
	name     string
	min, max uint64
}{
	jsonKindEnum:     {"an enum", 1 << 31, math.MaxInt32},
	jsonKindInt32:    {"a 32-bit integer", 1 << 31, math.MaxInt32},
	jsonKindSint32:   {"a 32-bit integer", 1 << 31, math.MaxInt32},
	jsonKindUint32:   {"an unsigned 32-bit integer", 0, math.MaxUint32},
	jsonKindInt64:    {"a 64-bit integer", 1 << 63, math.MaxInt64},
	jsonKindUint64:   {"an unsigned 64-bit integer", 0, math.MaxUint64},
	jsonKindFixed64:  {"an unsigned 64-bit integer", 0, math.MaxUint64},
	jsonKindSfixed64: {"a 64-bit integer", 1 << 63, math.MaxInt64},
}

// scalar reads a boolean or number and returns the bits that the wire carries.
func (t *jsonTranscoder) scalar(kind jsonKind) (bits uint64, err *JSONError) {
	switch kind {
	case jsonKindBool:
		return t.bool()
	case jsonKindDouble:
		return t.double()
	}
	return t.integer(kind)
}

func (t *jsonTranscoder) bool() (bits uint64, err *JSONError) {
	switch {
	case t.at("true"):
		t.pos += len("true")
		return 1, nil
	case t.at("false"):
		t.pos += len("false")
		return 0, nil
	}
	return 0, t.unexpected("true or false")
}

// integer reads a number, or a string that holds one, of an integer kind.
func (t *jsonTranscoder) integer(kind jsonKind) (bits uint64, err *JSONError) {
	limits := &jsonRange[kind]
	if kind == jsonKindEnum && t.peek() == '"' {
		return 0, t.fault(t.pos, "enum given by name: OTLP/JSON takes the number only")
	}
	if v, n := jsonPlainInteger(t.src[t.pos:]); n > 0 && v <= limits.max && kind != jsonKindSint32 {
		t.pos += n
		return v, nil
	}
	at, end := t.pos, len(t.dst)
	number, err := t.numeral(limits.name)
	if err != nil {
		return 0, err
	}
	negative, abs, fault := jsonInteger(number)
	switch {
	case fault == "" && (negative && abs > limits.min || !negative && abs > limits.max):
		fault = jsonTooLarge
		fallthrough
	case fault != "":
		err = t.fault(at, fmt.Sprintf("%s is %s %s", jsonExcerpt(number), fault, limits.name))
		t.dst = t.dst[:end]
		return 0, err
	}
	t.dst = t.dst[:end]
	if bits = abs; negative {
		bits = -abs
	}
	if kind == jsonKindSint32 {
		v := int32(bits)
		bits = uint64(uint32(v)<<1 ^ uint32(v>>31))
	}
	return bits, nil
}

// jsonPlainInteger reads what nearly all integers are: up to 19 digits, with
// quotes or without. It returns the length 0 for anything else.
func jsonPlainInteger(b []byte) (v uint64, n int) {
	from := 0
	if len(b) > 0 && b[0] == '"' {
		from = 1
	}
	i := from
	for i < len(b) && i < from+19 && b[i]-'0' < 10 {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	if i == from || i == len(b) || b[from] == '0' && i > from+1 {
		return 0, 0
	}
	switch c := b[i]; {
	case from == 1 && c == '"':
		return v, i + 1
	case from == 0 && (c == ',' || c == ']' || c == '}' || c <= ' '):
		return v, i
	}
	return 0, 0
}

// double reads a number, a string that holds one, or one of the three names.
func (t *jsonTranscoder) double() (bits uint64, err *JSONError) {
	if t.peek() == '"' {
		for _, special := range jsonSpecials {
			if t.at(special.text) {
				t.pos += len(special.text)
				return special.bits, nil
			}
		}
	}
	at, end := t.pos, len(t.dst)
	number, err := t.numeral("a number")
	if err != nil {
		return 0, err
	}
	// The view is gone before the bytes change.
	v, failed := strconv.ParseFloat(unsafe.String(unsafe.SliceData(number), len(number)), 64)
	if failed != nil {
		err = t.fault(at, jsonExcerpt(number)+" is too large for a double")
	}
	t.dst = t.dst[:end]
	return math.Float64bits(v), err
}

var jsonSpecials = [...]struct {
	text string
	bits uint64
}{
	{`"NaN"`, math.Float64bits(math.NaN())},
	{`"Infinity"`, math.Float64bits(math.Inf(1))},
	{`"-Infinity"`, math.Float64bits(math.Inf(-1))},
}

// numeral reads a number or a string that holds one and returns its text, which
// may be scratch behind t.dst's end.
func (t *jsonTranscoder) numeral(want string) ([]byte, *JSONError) {
	at := t.pos
	if t.peek() != '"' {
		n := jsonNumberLen(t.src[at:])
		if n == 0 {
			return nil, t.unexpected(want)
		}
		t.pos += n
		return t.src[at:t.pos:t.pos], nil
	}
	s, err := t.string(want)
	if err != nil {
		return nil, err
	}
	end := len(t.dst)
	number := t.unescaped(s)
	if n := jsonNumberLen(number); n == 0 || n != len(number) {
		err = t.fault(at, fmt.Sprintf("expected %s, found the string %q", want, jsonExcerpt(number)))
		t.dst = t.dst[:end]
		return nil, err
	}
	return number, nil
}

// jsonNumberLen returns the length of the JSON number that b starts with, or 0.
func jsonNumberLen(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	i = jsonDigits(b, i)
	if i == from || i > from+1 && b[from] == '0' {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = jsonDigits(b, from); i == from {
			return 0
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		from = i + 1
		if from < len(b) && (b[from] == '+' || b[from] == '-') {
			from++
		}
		if i = jsonDigits(b, from); i == from {
			return 0
		}
	}
	return i
}

// jsonDigits returns the index behind the digits that start at b[i].
func jsonDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}

const (
	jsonTooLarge = "out of range for"
	jsonFraction = "a fraction and not"
)

// jsonInteger returns sign and size of a JSON number, in whatever form it is
// written, or why it is no integer of 64 bits. The size of the text and of the
// exponent do not matter to its cost.
func jsonInteger(number []byte) (negative bool, abs uint64, fault string) {
	i := 0
	if number[0] == '-' {
		negative = true
		i++
	}
	// The value is abs × 10^shift, with a shift as large as possible: zeros are
	// held back until another digit follows.
	var shift, zeros int64
	overflow, fraction := false, false
	for ; i < len(number); i++ {
		switch c := number[i]; {
		case c == '.':
			fraction = true
			continue
		case c|0x20 == 'e':
			shift += jsonExponent(number[i+1:])
			i = len(number)
			continue
		case c == '0':
			zeros++
		default:
			abs, overflow = jsonShift(abs, zeros+1, uint64(c-'0'), overflow)
			zeros = 0
		}
		if fraction {
			shift--
		}
	}
	if abs == 0 && !overflow {
		return negative, 0, ""
	}
	if shift += zeros; shift < 0 {
		return negative, 0, jsonFraction
	}
	if abs, overflow = jsonShift(abs, shift, 0, overflow); overflow {
		return negative, 0, jsonTooLarge
	}
	return negative, abs, ""
}

// jsonShift returns v × 10^n + digit, and whether that or anything before it
// was too large.
func jsonShift(v uint64, n int64, digit uint64, overflow bool) (uint64, bool) {
	if v == 0 || overflow {
		return digit, overflow
	}
	for ; n > 0; n-- {
		if v > math.MaxUint64/10 {
			return 0, true
		}
		v *= 10
	}
	if v > math.MaxUint64-digit {
		return 0, true
	}
	return v + digit, false
}

// jsonExponent reads what follows the e of a JSON number. Beyond any length
// that a document could have, size no longer matters.
func jsonExponent(b []byte) int64 {
	const beyond = 1 << 40
	sign, v := int64(1), int64(0)
	for _, c := range b {
		switch c {
		case '-':
			sign = -1
		case '+':
		default:
			v = min(v*10+int64(c-'0'), beyond)
		}
	}
	return sign * v
}

// maxJSONExcerpt bounds how much of a number a message repeats, in bytes.
const maxJSONExcerpt = 32

// jsonExcerpt returns the start of b, for a message.
func jsonExcerpt(b []byte) string {
	if len(b) <= maxJSONExcerpt {
		return string(b)
	}
	return string(b[:maxJSONExcerpt]) + "…"
}
