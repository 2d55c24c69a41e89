package otlp

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// unescaped returns what s stands for. With escapes that is scratch behind
// t.dst's end: the caller remembers the end and sets it back.
func (t *jsonTranscoder) unescaped(s jsonString) []byte {
	if !s.escaped {
		return s.raw
	}
	from := len(t.dst)
	t.dst = jsonAppendUnescaped(t.dst, s.raw)
	return t.dst[from:]
}

// jsonAppendUnescaped appends raw, whose escape sequences were checked, with
// each of them replaced. The result is never longer than raw.
func jsonAppendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		plain := i
		for i < len(raw) && raw[i] != '\\' {
			i++
		}
		dst = append(dst, raw[plain:i]...)
		if i == len(raw) {
			break
		}
		c := raw[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, n := jsonRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// jsonRune reads the four digits behind \u and, when they are the first half of
// a surrogate pair, the second escape with them. A half without its partner is
// U+FFFD; what follows it stands for itself.
func jsonRune(b []byte) (r rune, n int) {
	r, _ = jsonHex4(b)
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if len(b) >= 10 && b[4] == '\\' && b[5] == 'u' {
		low, _ := jsonHex4(b[6:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 10
		}
	}
	return utf8.RuneError, 4
}

// jsonHex4 reads four hex digits.
func jsonHex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		d := jsonHexDigit[c]
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// jsonHexDigit and jsonBase64Digit hold the value of each digit, or -1. The
// latter knows both alphabets.
var jsonHexDigit, jsonBase64Digit = func() (hex, b64 [256]int8) {
	for c := range hex {
		hex[c], b64[c] = -1, -1
	}
	for i, c := range "0123456789abcdef" {
		hex[c] = int8(i)
	}
	for i, c := range "ABCDEF" {
		hex[c] = int8(10 + i)
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		b64[c] = int8(i)
	}
	b64['-'], b64['_'] = b64['+'], b64['/']
	return hex, b64
}()

// jsonDecode replaces the digits in b by the bytes that they stand for and
// returns how many those are, or what is wrong.
func jsonDecode(kind jsonKind, b []byte) (n int, fault string) {
	switch kind {
	case jsonKindTraceID:
		return jsonDecodeID(b, 16)
	case jsonKindSpanID:
		return jsonDecodeID(b, 8)
	}
	return jsonDecodeBase64(b)
}

// jsonDecodeID replaces the hex digits of an id that has size bytes, or none.
func jsonDecodeID(b []byte, size int) (n int, fault string) {
	if len(b) == 0 {
		return 0, ""
	}
	if len(b) != 2*size {
		return 0, fmt.Sprintf("id of %d characters: %d hex digits or none are valid", len(b), 2*size)
	}
	for i := range size {
		high, low := jsonHexDigit[b[2*i]], jsonHexDigit[b[2*i+1]]
		if high < 0 || low < 0 {
			return 0, "id that is not hexadecimal"
		}
		b[i] = byte(high)<<4 | byte(low)
	}
	return size, ""
}

// jsonDecodeBase64 replaces base64 digits. Padding may be absent, but not
// wrong; bits beyond the last byte are ignored, as protobuf does.
func jsonDecodeBase64(b []byte) (n int, fault string) {
	const invalid = "bytes that are not base64"
	digits := len(b)
	for digits > 0 && b[digits-1] == '=' {
		digits--
	}
	if pad := len(b) - digits; pad > 2 || pad > 0 && len(b)%4 != 0 || digits%4 == 1 {
		return 0, invalid
	}
	var bits uint32
	for i, c := range b[:digits] {
		d := jsonBase64Digit[c]
		if d < 0 {
			return 0, invalid
		}
		bits = bits<<6 | uint32(d)
		if i%4 != 0 {
			// The second digit completes the first byte, and so on.
			b[n] = byte(bits >> (6 - 2*(i%4)))
			n++
		}
	}
	return n, ""
}
