package otlp

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendText appends the value as a label or attribute string, after the rules
// for non-string attribute values of the OpenTelemetry specification
// (common/README.md): numbers as in JSON, bytes in base64, arrays and maps as
// JSON, empty as nothing.
func (v Value) AppendText(dst []byte) []byte {
	switch v.Kind {
	case StringKind:
		return append(dst, v.Bytes...)
	case DoubleKind:
		switch d := v.Double(); {
		case math.IsNaN(d):
			return append(dst, "NaN"...)
		case math.IsInf(d, 1):
			return append(dst, "Infinity"...)
		case math.IsInf(d, -1):
			return append(dst, "-Infinity"...)
		}
	case BytesKind:
		return base64.StdEncoding.AppendEncode(dst, v.Bytes)
	case EmptyKind:
		return dst
	}
	return v.appendJSON(dst)
}

// appendJSON appends the value as it stands inside an array or a map.
func (v Value) appendJSON(dst []byte) []byte {
	switch v.Kind {
	case StringKind:
		return appendQuoted(dst, v.Bytes)
	case BoolKind:
		return strconv.AppendBool(dst, v.Bool())
	case IntKind:
		return strconv.AppendInt(dst, v.Int(), 10)
	case DoubleKind:
		return appendDouble(dst, v.Double())
	case BytesKind:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes)
		return append(dst, '"')
	case ArrayKind:
		dst = append(dst, '[')
		n := 0
		for c := v.Children(); ; n++ {
			_, m, ok := c.Next()
			if !ok {
				return append(dst, ']')
			}
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = m.appendJSON(dst)
		}
	case MapKind:
		return v.appendMap(dst)
	}
	return append(dst, "null"...)
}

// appendMap appends an object with its keys in order, so that two orders of
// one map are one label value. Of a key given twice the last counts.
func (v Value) appendMap(dst []byte) []byte {
	type member struct {
		key   []byte
		value Value
	}
	var members []member
	for c := v.Children(); ; {
		key, m, ok := c.Next()
		if !ok {
			break
		}
		members = append(members, member{key, m})
	}
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '{')
	first := true
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.key, members[i+1].key) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendQuoted(dst, m.key), ':')
		dst = m.value.appendJSON(dst)
	}
	return append(dst, '}')
}

// appendDouble appends a JSON number in the form of ECMAScript's
// Number::toString, or a quoted word where JSON has no number.
func appendDouble(dst []byte, d float64) []byte {
	switch {
	case math.IsNaN(d):
		return append(dst, `"NaN"`...)
	case math.IsInf(d, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(d, -1):
		return append(dst, `"-Infinity"`...)
	}
	if a := math.Abs(d); a != 0 && (a < 1e-6 || a >= 1e21) {
		n := len(dst)
		dst = strconv.AppendFloat(dst, d, 'e', -1, 64)
		// e-09 becomes e-9.
		if m := len(dst); m-n >= 4 && dst[m-4] == 'e' && dst[m-3] == '-' && dst[m-2] == '0' {
			dst[m-2] = dst[m-1]
			dst = dst[:m-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, d, 'f', -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends s as a JSON string, escaping no more than JSON asks for.
// Bytes that are no UTF-8 become the replacement character.
func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c == '\r':
				dst = append(dst, '\\', 'r')
			case c == '\t':
				dst = append(dst, '\\', 't')
			case c < 0x20:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				dst = append(dst, c)
			}
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return append(dst, '"')
}
