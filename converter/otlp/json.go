package otlp

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how many objects and arrays of an OTLP/JSON document may enclose
// each other, the outermost object included. It holds on every path, fields
// that OTLP does not know included. A plain attribute of a data point lies 13
// levels deep, and every array or map within it takes three more.
const MaxDepth = 64

// JSONError says that a document is no OTLP/JSON request.
type JSONError struct {
	// Offset is where reading failed, in bytes from the start of the document.
	Offset int
	// Path leads to the field that was being read, with the names that the
	// document uses: "resourceMetrics[0].scopeMetrics[2].metrics[0].name". It is
	// empty when the fault lies in the outermost object or around it.
	Path string
	// Msg says what is wrong.
	Msg string
}

// Error returns what is wrong and where.
func (e *JSONError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset)
	}
	return fmt.Sprintf("%s at byte %d in %s", e.Msg, e.Offset, e.Path)
}

// within puts one step before the path, on the way out of the recursion, so
// that only documents that fail pay for paths.
func (e *JSONError) within(step string) *JSONError {
	switch {
	case e.Path == "":
		e.Path = step
	case e.Path[0] == '[':
		e.Path = step + e.Path
	default:
		e.Path = step + "." + e.Path
	}
	return e
}

// AppendJSON appends the protobuf encoding of the OTLP/JSON document src, an
// ExportMetricsServiceRequest, to dst and returns the result. On failure it
// returns dst as it was and a [*JSONError]. Src is not kept; it must not
// overlap dst.
//
// It is one pass that allocates nothing but the growth of dst. The result is
// at most four times as long as src (an array of one-digit bounds), usually
// half to two thirds; dst holds at no time more than the result and one string
// of src.
// Fields stand in the document's order, every length is minimal, repeated
// numbers are packed, and zeros are left out where protobuf leaves them out: a
// member of a oneof and the optional sum, min and max are written whenever the
// document has them.
//
// It follows the OTLP specification ("JSON Protobuf Encoding"), and protobuf's
// JSON mapping where that is silent:
//
//   - Names are lowerCamelCase. Others are skipped, checked as JSON.
//   - Null is an absent field; within an array it is an error.
//   - A name that OTLP knows may stand once in an object. RFC 8259 leaves the
//     meaning of a second one open, and readers differ: merge, append, replace.
//     Of several members of a oneof the last one counts.
//   - Integers are numbers or decimal strings, and integral: 1e3 and 1.0 are,
//     1.5 and what the type cannot hold are errors.
//   - Doubles are numbers, numbers in strings, "NaN", "Infinity", "-Infinity".
//     Numbers beyond the largest double are errors.
//   - Enums are numbers, never strings.
//   - Trace and span ids are hex digits of either case, of full length or empty.
//   - Bytes are base64 in the standard or the URL alphabet, padded or not.
//   - Strings are UTF-8. An escaped surrogate without its partner becomes U+FFFD.
//   - Nothing but whitespace may follow the document.
//   - Objects and arrays nest at most [MaxDepth] deep.
func AppendJSON(dst, src []byte) ([]byte, error) {
	t := jsonTranscoder{src: src, dst: dst}
	if err := t.document(); err != nil {
		// The memory may have grown; the caller keeps that.
		return t.dst[:len(dst)], err
	}
	return t.dst, nil
}

// jsonTranscoder is one pass over one document.
type jsonTranscoder struct {
	src   []byte
	pos   int // next byte of src
	depth int // open objects and arrays
	// dst ends with the message being written. What lies behind its end is
	// scratch for strings that need unescaping before they can be read.
	dst []byte
}

// document reads the outermost object and makes sure that nothing follows.
func (t *jsonTranscoder) document() error {
	t.space()
	if err := t.message(jsonRequest); err != nil {
		return err
	}
	t.space()
	if t.pos < len(t.src) {
		return t.fault(t.pos, "data after the end of the document")
	}
	return nil
}

// message reads an object and appends its fields. The caller has opened the
// message's frame.
func (t *jsonTranscoder) message(id jsonMessage) *JSONError {
	if err := t.enter('{', "an object"); err != nil {
		return err
	}
	if t.space(); t.peek() == '}' {
		t.leave()
		return nil
	}
	fields := jsonFields[id]
	var seen uint32 // one bit per entry of fields
	next := 0       // senders write fields in one order: try that one first
	for {
		at := t.pos
		name, err := t.name()
		if err != nil {
			return err
		}
		i := t.lookup(fields, next, name)
		switch {
		case i < 0:
			if err := t.skip(); err != nil {
				return err.within(jsonStep(name.raw))
			}
		case t.peek() == 'n':
			if err := t.literal("null"); err != nil {
				return err.within(fields[i].name)
			}
		case seen&(1<<i) != 0:
			return t.fault(at, "field given twice").within(fields[i].name)
		default:
			seen |= 1 << i
			next = i + 1
			if err := t.field(&fields[i]); err != nil {
				return err.within(fields[i].name)
			}
		}
		more, err := t.more('}')
		if err != nil || !more {
			return err
		}
	}
}

// lookup returns which of fields has the name, or -1, starting with first.
func (t *jsonTranscoder) lookup(fields []jsonField, first int, name jsonString) int {
	end := len(t.dst)
	text := t.unescaped(name)
	i := jsonIndex(fields, first, text)
	t.dst = t.dst[:end]
	return i
}

func jsonIndex(fields []jsonField, first int, name []byte) int {
	for i := first; i < len(fields); i++ {
		if fields[i].name == string(name) {
			return i
		}
	}
	for i := 0; i < first && i < len(fields); i++ {
		if fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

// field reads the value of a field that OTLP knows and appends it with its tag.
func (t *jsonTranscoder) field(f *jsonField) *JSONError {
	if f.repeated {
		return t.array(f)
	}
	return t.value(f, f.explicit)
}

// value reads one value and appends it with its tag. Keep says to write it even
// when it is the type's zero.
func (t *jsonTranscoder) value(f *jsonField, keep bool) *JSONError {
	switch f.kind {
	case jsonKindMessage:
		frame := t.open(f)
		if err := t.message(f.message); err != nil {
			return err
		}
		t.close(frame)
		return nil
	case jsonKindString:
		return t.text(f, keep)
	case jsonKindBytes, jsonKindTraceID, jsonKindSpanID:
		return t.binary(f, keep)
	}
	bits, err := t.scalar(f.kind)
	if err != nil {
		return err
	}
	if bits != 0 || keep {
		t.dst = append(t.dst, f.tag())
		t.number(f.kind, bits)
	}
	return nil
}

// array reads an array and appends its elements: numbers packed into one frame,
// anything else one by one.
func (t *jsonTranscoder) array(f *jsonField) *JSONError {
	if err := t.enter('[', "an array"); err != nil {
		return err
	}
	if t.space(); t.peek() == ']' {
		t.leave()
		return nil
	}
	var frame int
	if f.packed() {
		frame = t.open(f)
	}
	for i := 0; ; i++ {
		var err *JSONError
		if f.packed() {
			var bits uint64
			if bits, err = t.scalar(f.kind); err == nil {
				t.number(f.kind, bits)
			}
		} else {
			err = t.value(f, true)
		}
		if err != nil {
			return err.within(fmt.Sprintf("[%d]", i))
		}
		more, err := t.more(']')
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if f.packed() {
		t.close(frame)
	}
	return nil
}

// maxJSONStep bounds what an unknown name adds to a path, in bytes.
const maxJSONStep = 64

// jsonStep returns an unknown name for a path: still escaped, and shortened.
func jsonStep(raw []byte) string {
	if len(raw) <= maxJSONStep {
		return string(raw)
	}
	n := maxJSONStep
	for !utf8.RuneStart(raw[n]) {
		n--
	}
	return string(raw[:n]) + "…"
}
