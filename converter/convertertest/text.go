package convertertest

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

// Request reads an ExportMetricsServiceRequest from protobuf text format, in
// which these are short forms:
//
//	@1500                        1500 ms after the epoch, in nanoseconds
//	attributes: "k" = "v"        attributes { key: "k" value { string_value: "v" } }
//	hex"0a1b"                    the bytes 0x0a 0x1b
//
// The second works for every repeated KeyValue. The value after = is a string,
// true or false, an integer, or a double: a number with a point or an exponent,
// nan, inf, -inf. Other values are written in full.
func Request(text string) (*colmetricspb.ExportMetricsServiceRequest, error) {
	full, err := expand(text)
	if err != nil {
		return nil, err
	}
	req := new(colmetricspb.ExportMetricsServiceRequest)
	if err := prototext.Unmarshal([]byte(full), req); err != nil {
		return nil, fmt.Errorf("request text: %w", err)
	}
	return req, nil
}

// Metrics is [Request] for text that holds only the fields of one ScopeMetrics,
// of a scope without a name, sent by service "shop", instance "a1".
func Metrics(text string) (*colmetricspb.ExportMetricsServiceRequest, error) {
	return Request(`resource_metrics {
		resource { attributes: "service.name" = "shop" attributes: "service.instance.id" = "a1" }
		scope_metrics {
			` + text + `
		}
	}`)
}

// expand replaces the short forms.
func expand(text string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case c == '#':
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n
		case c == '"' || c == '\'':
			lit, err := quoted(rest)
			if err != nil {
				return "", err
			}
			n, value, err := assigned(rest[len(lit):])
			if err != nil {
				return "", err
			}
			if n == 0 {
				out.WriteString(lit)
			} else {
				fmt.Fprintf(&out, "{ key: %s value { %s } }", lit, value)
			}
			i += len(lit) + n
		case c == '@':
			digits := leading(rest[1:], "0123456789")
			ms, err := strconv.ParseUint(digits, 10, 44)
			if err != nil {
				return "", fmt.Errorf("request text: time @%s: %w", digits, err)
			}
			out.WriteString(strconv.FormatUint(ms*1e6, 10))
			i += 1 + len(digits)
		case strings.HasPrefix(rest, `hex"`):
			lit, err := quoted(rest[3:])
			if err != nil {
				return "", err
			}
			b, err := hex.DecodeString(lit[1 : len(lit)-1])
			if err != nil {
				return "", fmt.Errorf("request text: hex%s: %w", lit, err)
			}
			out.WriteByte('"')
			for _, x := range b {
				fmt.Fprintf(&out, `\x%02x`, x)
			}
			out.WriteByte('"')
			i += 3 + len(lit)
		default:
			out.WriteByte(c)
			i++
		}
	}
	return out.String(), nil
}

// quoted returns the string literal that s starts with, quotes included.
func quoted(s string) (string, error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return s[:i+1], nil
		}
	}
	return "", fmt.Errorf("request text: string does not end: %.40s", s)
}

// assigned reads `= value` and returns its length and the AnyValue field it
// means, or 0 when s does not start with it.
func assigned(s string) (n int, field string, err error) {
	const blank = " \t\n"
	n = len(leading(s, blank))
	if !strings.HasPrefix(s[n:], "=") {
		return 0, "", nil
	}
	n++
	n += len(leading(s[n:], blank))
	if strings.HasPrefix(s[n:], `"`) {
		lit, err := quoted(s[n:])
		return n + len(lit), "string_value: " + lit, err
	}
	word := s[n:]
	if end := strings.IndexAny(word, blank+"}"); end >= 0 {
		word = word[:end]
	}
	n += len(word)
	switch {
	case word == "true" || word == "false":
		return n, "bool_value: " + word, nil
	case word == "nan" || word == "inf" || word == "-inf" || strings.ContainsAny(word, ".eE"):
		return n, "double_value: " + word, nil
	}
	if _, err := strconv.ParseInt(word, 10, 64); err != nil {
		return 0, "", fmt.Errorf("request text: attribute value %q: %w", word, err)
	}
	return n, "int_value: " + word, nil
}

// leading returns the longest prefix of s made of the bytes in set.
func leading(s, set string) string {
	return s[:len(s)-len(strings.TrimLeft(s, set))]
}
