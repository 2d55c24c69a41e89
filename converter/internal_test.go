package converter

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/pool"
	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// line is a pipeline in front of a recorder, with a clock and metrics.
type line struct {
	*Pipeline
	rec   *storagetest.Recorder
	reg   *prometheus.Registry
	nowMs atomic.Int64
}

func newLine(t testing.TB, o Options) *line {
	t.Helper()
	l := &line{rec: storagetest.NewRecorder(), reg: prometheus.NewRegistry()}
	l.nowMs.Store(time.Hour.Milliseconds())
	o.Backend, o.Registerer = l.rec, l.reg
	o.Now = func() time.Time { return time.UnixMilli(l.nowMs.Load()) }
	p, err := New(o)
	require.NoError(t, err)
	l.Pipeline = p
	return l
}

// encode is the protobuf of a request in the text form of convertertest.
func encode(t testing.TB, text string) []byte {
	t.Helper()
	req, err := convertertest.Request(text)
	require.NoError(t, err)
	return convertertest.Ascending(req)
}

// encodeMetrics is [encode] for one scope of service shop, instance a1.
func encodeMetrics(t testing.TB, text string) []byte {
	t.Helper()
	req, err := convertertest.Metrics(text)
	require.NoError(t, err)
	return convertertest.Ascending(req)
}

func (l *line) send(t testing.TB, body []byte) Report {
	t.Helper()
	report, err := l.Push(t.Context(), Request{Body: bytes.Clone(body)})
	require.NoError(t, err)
	return report
}

// stored returns what came since the last call.
func (l *line) stored(t testing.TB) string {
	t.Helper()
	l.rec.AssertClean(t)
	text := l.rec.Text()
	l.rec.Reset()
	return text
}

// everything is a request with all that a converter has scratch for.
const everything = `
	metrics { name: "g" description: "help" unit: "By" metadata: "prometheus.type" = "info"
		gauge { data_points { time_unix_nano: @2000 as_int: 1 attributes: "k" = 1.5 attributes: "j" = "v" } data_points { time_unix_nano: @1000 as_int: 2 attributes: "k" = 1.5 attributes: "j" = "v" } data_points { } } }
	metrics { name: "s" sum { is_monotonic: true aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
		data_points { start_time_unix_nano: @500 time_unix_nano: @2000 as_double: 3 exemplars { as_int: 1 time_unix_nano: @1500 filtered_attributes: "user" = "u" trace_id: hex"01020304050607080102030405060708" } } } }
	metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
		data_points { time_unix_nano: @2000 count: 3 sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] attributes: "le" = "x" exemplars { as_int: 1 } exemplars { as_int: 9 } } } }
	metrics { name: "e" exponential_histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
		data_points { time_unix_nano: @2000 count: 6 sum: 6 scale: 2 positive { offset: 1 bucket_counts: [1, 2] } negative { bucket_counts: [3] } } } }
	metrics { name: "q" summary { data_points { time_unix_nano: @2000 count: 3 sum: 6 quantile_values { quantile: 0.5 value: 1 } } } }
	metrics { name: "d" sum { aggregation_temporality: AGGREGATION_TEMPORALITY_DELTA data_points { time_unix_nano: @2000 as_int: 1 } } }`

// A converter that goes back to the pool holds nothing of its request: every
// field is empty, and so is the memory behind every slice, whatever became of
// the transaction.
func TestPooledConverterIsClean(t *testing.T) {
	body := encodeMetrics(t, everything)
	for name, c := range map[string]struct {
		options Options
		body    []byte
		before  func(*line)
		ok      bool
	}{
		"commit":        {body: body, ok: true},
		"custom":        {body: body, ok: true, options: Options{NHCB: true, Labels: LabelOptions{TypeAndUnit: true}}},
		"full cache":    {body: body, ok: true, options: Options{Cache: seriesOptions(1, 0)}},
		"failed commit": {body: body, before: func(l *line) { l.rec.FailCommit(errors.New("disk full")) }},
		"failed append": {body: body, before: func(l *line) { l.rec.FailAppend(3, errors.New("disk full")) }},
		"refused": {body: body, ok: true, before: func(l *line) {
			l.rec.FailCommit(&storage.Error{Kind: storage.KindRefused, Refused: []storage.Refusal{{First: 0, Last: 3, Count: 1, Reason: "no"}}})
		}},
		"torn":         {body: body[:len(body)-2]},
		"torn at last": {body: append(bytes.Clone(body), 0x0a)},
		"rollback":     {body: encodeMetrics(t, `metrics { name: "g" gauge { data_points { } } }`), ok: true},
		"split":        {body: split(t, everything), ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, c.options)
			// A pool of one that is looked at instead of reused.
			var put *converter
			l.converters = pool.New(func() *converter { return newConverter(l.opts) }, func(c *converter) bool {
				put = c
				return c.reset()
			})
			if c.before != nil {
				c.before(l)
			}
			_, err := l.Push(t.Context(), Request{Body: bytes.Clone(c.body)})
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.NotNil(t, put)
			fields := reflect.ValueOf(put).Elem()
			for i := range fields.NumField() {
				name := fields.Type().Field(i).Name
				switch name {
				case "opts", "namer", "unitNamer":
					continue // the pipeline's
				case "txn", "epoch", "nowMs":
					continue // numbers that begin sets
				case "slab":
					continue // fresh memory; see TestSlab
				}
				requireEmpty(t, name, fields.Field(i))
			}
			l.rec.AssertClean(t)
		})
	}
}

func split(t *testing.T, text string) []byte {
	t.Helper()
	req, err := convertertest.Metrics(text)
	require.NoError(t, err)
	return convertertest.Merge(req, 5)
}

// requireEmpty fails for anything in v that is not zero, but for the bytes
// behind empty slices of bytes and numbers, which hold no references.
func requireEmpty(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if v.Type() == reflect.TypeFor[otlp.Scratch]() {
		return // Bytes that were joined; each Parse begins anew.
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			switch name := v.Type().Field(i).Name; name {
			case "namer", "warn":
			default:
				requireEmpty(t, path+"."+name, v.Field(i))
			}
		}
	case reflect.Map:
		require.Zero(t, v.Len(), path)
	case reflect.Slice:
		require.Zero(t, v.Len(), path)
		if holdsReferences(v.Type().Elem()) {
			whole := v.Slice(0, v.Cap())
			for i := range whole.Len() {
				requireEmpty(t, fmt.Sprintf("%s[%d]", path, i), whole.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			requireEmpty(t, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	default:
		require.True(t, v.IsZero(), "%s is %v", path, v)
	}
}

func holdsReferences(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float64:
		return false
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsReferences(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}

// Scratch that one request needed much of goes with it.
func TestScratchIsCapped(t *testing.T) {
	var text strings.Builder
	long := strings.Repeat("x", maxKeptBytes)
	fmt.Fprintf(&text, `metrics { name: "big" gauge { data_points { time_unix_nano: @1000 as_int: 1`)
	for i := range maxKeptValues + 1 {
		fmt.Fprintf(&text, ` attributes: "k%d" = %d`, i, i)
	}
	fmt.Fprintf(&text, `} data_points { time_unix_nano: @1000 as_int: 1 attributes: "k" = %q } } }`, long)
	fmt.Fprintf(&text, ` metrics { name: %q gauge { data_points { time_unix_nano: @1000 as_int: 1 } } }`, long)
	fmt.Fprintf(&text, ` metrics { name: "e" exponential_histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE data_points { time_unix_nano: @1000 sum: 1 count: %d positive {`, 2*slabValues+maxKeptValues)
	for range 2*slabValues + maxKeptValues {
		text.WriteString(" bucket_counts: 1")
	}
	text.WriteString(`} } } } metrics { name: "many" gauge {`)
	for i := range maxKeptPoints + 1 {
		fmt.Fprintf(&text, " data_points { time_unix_nano: @%d as_int: 1 }", 1000+i)
	}
	text.WriteString("} }")

	l := newLine(t, Options{})
	c := l.converters.Get()
	app := l.opts.Backend.AppenderV2(t.Context())
	c.begin(encodeMetrics(t, text.String()), app, l.cache.Tenant(""), 1, 0, l.nowMs.Load())
	fault := c.walk()
	require.Nil(t, fault)
	require.NoError(t, c.append())
	require.NoError(t, app.Commit())
	c.settle(true)
	require.Greater(t, cap(c.staged), maxKeptPoints)
	require.Greater(t, cap(c.sorting), maxKeptValues)
	require.Greater(t, cap(c.counts), maxKeptValues)
	require.Greater(t, cap(c.key), maxKeptBytes)
	require.True(t, c.reset())
	require.LessOrEqual(t, cap(c.staged), maxKeptPoints)
	require.LessOrEqual(t, cap(c.values), maxKeptSamples)
	require.LessOrEqual(t, cap(c.sorting), maxKeptValues)
	require.LessOrEqual(t, cap(c.counts), maxKeptValues)
	require.LessOrEqual(t, cap(c.labels.list), maxKeptValues)
	require.LessOrEqual(t, cap(c.labels.text), maxKeptBytes)
	require.LessOrEqual(t, cap(c.key), maxKeptBytes)
	require.LessOrEqual(t, cap(c.canonical), maxKeptBytes)
}

// What the slab gives away is never given away again, and what is left of a
// chunk is no more than a chunk.
func TestSlab(t *testing.T) {
	var s slab
	seen := make(map[uintptr]bool)
	claim := func(p uintptr) {
		require.False(t, seen[p], "given away twice")
		seen[p] = true
	}
	var all []any
	for n := range 300 {
		if n%40 == 0 {
			s.begin()
		}
		counts := make([]uint64, n%47+1)
		for i := range counts {
			if i%5 == 0 || n%3 == 0 { // Gaps are longer than maxGap, or there are none.
				counts[i] = uint64(i + 1)
			}
		}
		h := s.shell()
		spans, deltas := s.layout(h.span[:0:1], counts, int64(n))
		values := s.floats(n % 5)
		require.Equal(t, len(spans), cap(spans))
		require.Equal(t, len(deltas), cap(deltas))
		require.Equal(t, len(values), cap(values))
		claim(reflect.ValueOf(&h.h).Pointer())
		for i := range spans {
			claim(reflect.ValueOf(&spans[i]).Pointer())
		}
		for i := range deltas {
			claim(reflect.ValueOf(&deltas[i]).Pointer())
		}
		for i := range values {
			claim(reflect.ValueOf(&values[i]).Pointer())
		}
		all = append(all, h, spans, deltas, values) // Nothing is collected meanwhile.
	}
	require.NotEmpty(t, all)
	s.layout(nil, make([]uint64, 5), 0)
	huge := make([]uint64, 1<<17)
	for i := range huge {
		huge[i] = uint64(i)
	}
	s.layout(make([]histogram.Span, 0, 1), huge, 0)
	require.LessOrEqual(t, cap(s.deltas), maxDeltas, "the rest of a huge histogram pins all of it")
}

func TestMetrics(t *testing.T) {
	l := newLine(t, Options{})
	body := encodeMetrics(t, everything)
	l.send(t, body)
	l.send(t, body)
	require.Equal(t, 16., metricValue(t, l, "otlpgw_converter_points_total"))
	require.Equal(t, 5., metricValue(t, l, "otlpgw_converter_repeated_points_total"))
	require.Equal(t, 4., metricValue(t, l, "otlpgw_converter_rejected_points_total"))
	require.Positive(t, metricValue(t, l, "otlpgw_series_cache_hits_total"))
	problems, err := testutil.GatherAndLint(l.reg)
	require.NoError(t, err)
	require.Empty(t, problems)
}
