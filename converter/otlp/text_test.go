package otlp

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// textOf puts a value on the wire as a resource attribute and returns its text.
func textOf(t *testing.T, fill func(pcommon.Value)) (text, theirs string) {
	t.Helper()
	md := pmetric.NewMetrics()
	v := md.ResourceMetrics().AppendEmpty().Resource().Attributes().PutEmpty("k")
	fill(v)
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	require.NoError(t, err)
	l, fault := Request(body)
	require.Nil(t, fault)
	b, _ := l.Next()
	rm, fault := ParseResourceMetrics(b, new(Scratch))
	require.Nil(t, fault)
	l, fault = ParseResource(rm.Resource)
	require.Nil(t, fault)
	b, _ = l.Next()
	_, value, fault := ParseKeyValue(b)
	require.Nil(t, fault)
	return string(value.AppendText([]byte("before"))[len("before"):]), v.AsString()
}

// Random values read as in pdata but for what is listed in [TestTextDiffers].
func TestTextAgainstPdata(t *testing.T) {
	compared := 0
	for seed := range uint64(2000) {
		r := jsonRandom{rand.New(rand.NewPCG(seed, 9))}
		got, want := textOf(t, func(v pcommon.Value) {
			r.value(v, 0)
			fillBytes(v)
		})
		if strings.ContainsAny(want, "\u2028\u2029") || strings.Contains(want, `\u2028`) || want == "" && got != "" {
			continue
		}
		compared++
		require.Equal(t, want, got, "seed %d", seed)
		if strings.HasPrefix(got, "[") || strings.HasPrefix(got, "{") {
			require.True(t, json.Valid([]byte(got)), got)
		}
	}
	require.Greater(t, compared, 1500)
}

// fillBytes leaves no empty bytes in a value.
func fillBytes(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeBytes:
		if v.Bytes().Len() == 0 {
			v.Bytes().Append(1)
		}
	case pcommon.ValueTypeSlice:
		for _, m := range v.Slice().All() {
			fillBytes(m)
		}
	case pcommon.ValueTypeMap:
		for _, m := range v.Map().All() {
			fillBytes(m)
		}
	}
}

// Where the text is not pdata's, and why.
func TestTextDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		fill         func(pcommon.Value)
		want, theirs string
	}{
		"JSON has no NaN: pdata gives nothing for the whole array": {
			func(v pcommon.Value) {
				s := v.SetEmptySlice()
				s.AppendEmpty().SetDouble(math.NaN())
				s.AppendEmpty().SetDouble(math.Inf(1))
				s.AppendEmpty().SetDouble(math.Inf(-1))
			},
			`["NaN","Infinity","-Infinity"]`, "",
		},
		"nothing is escaped that JSON does not ask for": {
			func(v pcommon.Value) { v.SetEmptySlice().AppendEmpty().SetStr("\u2028\u2029\x7f<&>") },
			"[\"\u2028\u2029\x7f<&>\"]", `["\u2028\u2029` + "\x7f" + `<&>"]`,
		},
		"empty bytes in an array are bytes and not nothing": {
			func(v pcommon.Value) { v.SetEmptySlice().AppendEmpty().SetEmptyBytes() },
			`[""]`, "[null]",
		},
		"control characters": {
			func(v pcommon.Value) { v.SetEmptySlice().AppendEmpty().SetStr("\b\f\n\r\t\x01") },
			`["\u0008\u000c\n\r\t\u0001"]`, `["\b\f\n\r\t\u0001"]`,
		},
		"bytes that are no text": {
			func(v pcommon.Value) { v.SetEmptySlice().AppendEmpty().SetStr("a\xffb\xc3") },
			"[\"a\uFFFDb\uFFFD\"]", `["a\ufffdb\ufffd"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, theirs := textOf(t, c.fill)
			require.Equal(t, c.want, got)
			require.Equal(t, c.theirs, theirs)
		})
	}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		fill func(pcommon.Value)
		want string
	}{
		"empty":          {func(pcommon.Value) {}, ""},
		"a string as is": {func(v pcommon.Value) { v.SetStr("a\xff\"\n") }, "a\xff\"\n"},
		"true":           {func(v pcommon.Value) { v.SetBool(true) }, "true"},
		"smallest int":   {func(v pcommon.Value) { v.SetInt(math.MinInt64) }, "-9223372036854775808"},
		"whole double":   {func(v pcommon.Value) { v.SetDouble(1) }, "1"},
		"minus zero":     {func(v pcommon.Value) { v.SetDouble(math.Copysign(0, -1)) }, "-0"},
		"NaN":            {func(v pcommon.Value) { v.SetDouble(math.NaN()) }, "NaN"},
		"infinity":       {func(v pcommon.Value) { v.SetDouble(math.Inf(1)) }, "Infinity"},
		"less infinity":  {func(v pcommon.Value) { v.SetDouble(math.Inf(-1)) }, "-Infinity"},
		"large double":   {func(v pcommon.Value) { v.SetDouble(1e21) }, "1e+21"},
		"below it":       {func(v pcommon.Value) { v.SetDouble(1e20) }, "100000000000000000000"},
		"small double":   {func(v pcommon.Value) { v.SetDouble(1e-7) }, "1e-7"},
		"smallest":       {func(v pcommon.Value) { v.SetDouble(5e-324) }, "5e-324"},
		"bytes":          {func(v pcommon.Value) { v.SetEmptyBytes().FromRaw([]byte{255, 0}) }, "/wA="},
		"no members":     {func(v pcommon.Value) { v.SetEmptyMap() }, "{}"},
		"no elements":    {func(v pcommon.Value) { v.SetEmptySlice() }, "[]"},
		"array": {func(v pcommon.Value) {
			s := v.SetEmptySlice()
			s.AppendEmpty()
			s.AppendEmpty().SetEmptyBytes().FromRaw([]byte{1})
			s.AppendEmpty().SetStr(`a "b"\`)
			s.AppendEmpty().SetEmptySlice().AppendEmpty().SetBool(false)
		}, `[null,"AQ==","a \"b\"\\",[false]]`},
		"map, sorted": {func(v pcommon.Value) {
			m := v.SetEmptyMap()
			m.PutInt("z", 1)
			m.PutEmptyMap("a").PutDouble("", 0.5)
			m.PutEmpty("m")
		}, `{"a":{"":0.5},"m":null,"z":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := textOf(t, c.fill)
			require.Equal(t, c.want, got)
		})
	}
}

// Of a key that a map holds twice the last counts, as in a JSON parser.
func TestTextOfRepeatedKeys(t *testing.T) {
	member := func(key string, v byte) []byte {
		return nest(append(nest([]byte(key), 1), 0x12, 2, 0x18, v), 1)
	}
	list := append(append(append(member("b", 1), member("a", 2)...), member("b", 3)...), member("a", 4)...)
	v := Value{Kind: MapKind, Bytes: list}
	require.Equal(t, `{"a":4,"b":3}`, string(v.AppendText(nil)))
}
