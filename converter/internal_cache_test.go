package converter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

func seriesOptions(maxBytes int64, maxSeries int) (o series.Options) {
	o.MaxBytes, o.MaxSeries = maxBytes, maxSeries
	return o
}

// A cache that is full, at any point, changes what is remembered and nothing
// else: the values are the same, and repetitions within a request are found.
func TestFullCacheConvertsRight(t *testing.T) {
	requests := func() [][]byte {
		w := convertertest.NewWorld(4, 1000)
		return [][]byte{convertertest.Ascending(w.Request()), convertertest.Descending(w.Request()), convertertest.Split(w.Request(), 1)}
	}()
	twice := encodeMetrics(t, `
		metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: 1 } data_points { time_unix_nano: @1000 as_int: 1 } data_points { time_unix_nano: @1000 as_int: 2 } } }
		metrics { name: "h" histogram { aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
			data_points { time_unix_nano: @1000 count: 3 sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] }
			data_points { time_unix_nano: @1000 count: 3 sum: 6 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] }
			data_points { time_unix_nano: @1000 count: 3 sum: 7 explicit_bounds: [1, 2] bucket_counts: [1, 1, 1] } } }`)
	run := func(cache series.Options) (stored []string, verdicts [][2]int, l *line) {
		l = newLine(t, Options{Cache: cache})
		for _, body := range append(requests, twice) {
			report := l.send(t, body)
			verdicts = append(verdicts, [2]int{report.Points, report.Rejected})
			stored = append(stored, l.stored(t))
		}
		return stored, verdicts, l
	}
	want, wantVerdicts, roomy := run(series.Options{})
	require.Equal(t, 2, wantVerdicts[3][1])
	require.Equal(t, 6, strings.Count(want[3], "\n"))
	used := int64(metricValue(t, roomy, "otlpgw_series_cache_bytes"))
	require.Greater(t, used, int64(10_000))

	limits := []series.Options{seriesOptions(1, 0)}
	for n := range 12 {
		limits = append(limits, seriesOptions(0, n+1))
	}
	for n := range int64(60) {
		limits = append(limits, seriesOptions(1+used*n/60, 0))
	}
	for n := range int64(120) {
		limits = append(limits, seriesOptions(500+n*53, 0))
	}
	for _, limit := range limits {
		got, verdicts, l := run(limit)
		require.Equal(t, want, got, "%+v", limit)
		require.Equal(t, wantVerdicts, verdicts, "%+v", limit)
		requireAllRoomBack(t, l)
	}
	requireAllRoomBack(t, roomy)
}

// requireAllRoomBack lets everything age out and looks whether anything is
// still accounted for.
func requireAllRoomBack(t *testing.T, l *line) {
	t.Helper()
	l.nowMs.Add(3 * time.Hour.Milliseconds())
	l.cache.Sweep()
	l.cache.Sweep()
	require.Zero(t, metricValue(t, l, "otlpgw_series_cache_bytes"), "bytes that nobody holds")
	require.Zero(t, metricValue(t, l, "otlpgw_series_cache_entries"), "series that nobody holds")
	l.rec.AssertClean(t)
}

// metricValue returns the sum of a family's values.
func metricValue(t testing.TB, l *line, name string) (sum float64) {
	t.Helper()
	families, err := l.reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
		return sum
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// Nobody's data brings the process down: labels longer than the library can
// hold cost their point.
func TestLabelsTooLong(t *testing.T) {
	for name, text := range map[string]string{
		"attribute": `resource_metrics { scope_metrics { metrics { name: "g" gauge {
			data_points { time_unix_nano: @1000 as_int: 1 attributes: "k" = "LONG" } data_points { time_unix_nano: @1000 as_int: 1 } } } } }`,
		"key": `resource_metrics { scope_metrics { metrics { name: "g" gauge {
			data_points { time_unix_nano: @1000 as_int: 1 attributes: "LONG" = "v" } data_points { time_unix_nano: @1000 as_int: 1 } } } } }`,
		"joined attributes": `resource_metrics { scope_metrics { metrics { name: "g" gauge {
			data_points { time_unix_nano: @1000 as_int: 1 attributes: "k.k" = "LONG" attributes: "k_k" = "x" } data_points { time_unix_nano: @1000 as_int: 1 } } } } }`,
		"metric": `resource_metrics { scope_metrics {
			metrics { name: "LONG" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } }
			metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } } } }`,
		"scope": `resource_metrics { scope_metrics { scope { name: "LONG" } metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } } }
			scope_metrics { metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } } } }`,
		"service": `resource_metrics { resource { attributes: "service.name" = "LONG" attributes: "k" = "v" }
			scope_metrics { metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } } } }
			resource_metrics { scope_metrics { metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } } } }`,
		"resource": `resource_metrics { resource { attributes: "service.name" = "" attributes: "service.instance.id" = "i" attributes: "k" = "LONG" }
			scope_metrics { metrics { name: "g" gauge { data_points { time_unix_nano: @1000 as_int: 1 } } } } }`,
	} {
		sizes := []int{1 << 24}
		if name == "attribute" {
			sizes = []int{1<<24 - 1, 1 << 24, 1<<24 + 1}
		}
		for _, n := range sizes {
			t.Run(fmt.Sprintf("%s of %d", name, n), func(t *testing.T) {
				req, err := convertertest.Request(text)
				require.NoError(t, err)
				substitute(req.ProtoReflect(), "LONG", strings.Repeat("x", n))
				l := newLine(t, Options{})
				// It stores without looking, as a log would.
				backend := storagetest.NewDiscard()
				l.opts.Backend, l.opts.forget = backend, nil
				report, err := l.Push(t.Context(), Request{Body: convertertest.Ascending(req)})
				require.NoError(t, err)
				require.LessOrEqual(t, report.Rejected, 1)
				require.Positive(t, backend.Series())
				for _, r := range allRecords(l) {
					r.Range(func(label labels.Label) { require.LessOrEqual(t, len(label.Value), n) })
				}
			})
		}
	}
}

// allRecords returns the labels of all series that the cache knows.
func allRecords(l *line) (all []labels.Labels) {
	l.cache.Tenant("").Records.Each(func(ls labels.Labels) bool {
		all = append(all, ls)
		return true
	})
	return all
}

// substitute replaces a string wherever it stands in a message.
func substitute(m protoreflect.Message, old, replacement string) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() == protoreflect.StringKind && v.String() == old:
			m.Set(fd, protoreflect.ValueOfString(replacement))
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				substitute(v.List().Get(i).Message(), old, replacement)
			}
		default:
			substitute(v.Message(), old, replacement)
		}
		return true
	})
}

// The bytes that the cache is accounted for are about those that it holds,
// whatever part of a request they come from.
func TestLongStringsAreAccounted(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, text := range map[string]string{
		"scope":    `resource_metrics { scope_metrics { scope { name: "%s" } metrics { name: "g" gauge { data_points { time_unix_nano: @1000 } } } } }`,
		"metric":   `resource_metrics { scope_metrics { metrics { name: "g" description: "%s" gauge { data_points { time_unix_nano: @1000 } } } } }`,
		"unit":     `resource_metrics { scope_metrics { metrics { name: "g" unit: "%s" gauge { data_points { time_unix_nano: @1000 } } } } }`,
		"resource": `resource_metrics { resource { attributes: "k" = "%s" } scope_metrics { metrics { name: "g" gauge { data_points { time_unix_nano: @1000 } } } } }`,
		"layout":   `resource_metrics { scope_metrics { metrics { name: "g" summary { data_points { time_unix_nano: @1000 attributes: "k" = "%s" } } } } }`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, Options{Labels: LabelOptions{PromoteAllResourceAttributes: true}})
			l.send(t, encode(t, fmt.Sprintf(text, long)))
			require.Greater(t, metricValue(t, l, "otlpgw_series_cache_bytes"), float64(len(long)))
			requireAllRoomBack(t, l)
		})
	}
}
