package remotewrite

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

func nhcb() *histogram.Histogram {
	return &histogram.Histogram{
		Schema: histogram.CustomBucketsSchema, Count: 10, Sum: 12.5, CustomValues: []float64{0.5, 1},
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 1}, {Offset: 1, Length: 1}}, PositiveBuckets: []int64{3, 4},
	}
}

func at(le string, v float64) exemplar.Exemplar {
	return exemplar.Exemplar{Labels: labels.FromStrings("trace_id", le), Value: v, Ts: 900, HasTs: true}
}

func TestNHCBBecomesClassic(t *testing.T) {
	const want = `d_bucket{job="j", le="0.5"} 3 @1000 st=500
  # {trace_id="half"} 0.5 @900
d_bucket{job="j", le="1"} 3 @1000 st=500
  # {trace_id="one"} 0.75 @900
d_bucket{job="j", le="+Inf"} 10 @1000 st=500
  # {trace_id="more"} 7 @900
d_count{job="j"} 10 @1000 st=500
d_sum{job="j"} 12.5 @1000 st=500
`
	for name, h := range map[string]Sample{"integers": {H: nhcb()}, "floats": {FH: nhcb().ToFloat(nil)}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *DestinationOptions) { o.ConvertNHCBToClassic = true })
			h.Series = b.series(labels.FromStrings("__name__", "d", "job", "j"))
			h.T, h.ST = 1000, 500
			h.Exemplars = []exemplar.Exemplar{at("more", 7), at("half", 0.5), at("one", 0.75)}
			require.Equal(t, Outcome{}, b.send(h))
			require.Equal(t, want, storagetest.Text(b.far.Stored()))

			// The end of the series is the end of every bucket that was sent.
			stale := &histogram.Histogram{Schema: histogram.CustomBucketsSchema, Sum: math.Float64frombits(value.StaleNaN)}
			require.Equal(t, Outcome{}, b.send(Sample{Series: h.Series, T: 2000, H: stale}))
			require.Equal(t, `d_bucket{job="j", le="0.5"} stale @2000
d_bucket{job="j", le="1"} stale @2000
d_bucket{job="j", le="+Inf"} stale @2000
d_count{job="j"} stale @2000
d_sum{job="j"} stale @2000
`, storagetest.Text(b.far.Stored()[5:]))
		})
	}
}

func TestNHCBIn10(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) { o.ProtobufMessage = MessageV1 })
	samples := append(b.floats(2), Sample{Series: b.series(numbered(7)), N: 2, T: 5, H: nhcb()})
	require.Equal(t, Outcome{}, b.send(samples...))
	require.Len(t, b.far.Stored(), 2)
	b.metric(t, "dropped_samples_total", `,reason="nhcb"`, "1")

	require.Equal(t, Outcome{}, b.send(samples[2]), "nothing that can be sent")
	require.Len(t, b.far.Requests(), 1)
	b.metric(t, "dropped_samples_total", `,reason="nhcb"`, "2")
}

func TestNHCBWhenADestinationFallsBack(t *testing.T) {
	b := newBench(t)
	b.far.ToV2(&storagetest.Answer{Status: 415, NoWritten: true})
	h := Sample{Series: b.series(numbered(7)), N: 2, T: 5, H: nhcb()}
	require.Equal(t, Outcome{}, b.send(append(b.floats(2), h)...))
	require.Len(t, b.far.Stored(), 2)
	b.metric(t, "dropped_samples_total", `,reason="nhcb"`, "1")
}

func TestEscapedNamesThatCollideAreReported(t *testing.T) {
	series := func(b *bench, name string) Sample {
		return Sample{Series: b.series(labels.FromStrings("__name__", name, "job", "j")), T: 1}
	}
	for name, order := range map[string][]string{
		"two escaped":          {"a.b", "a/b"},
		"escaped, then legacy": {"a.b", "a_b"},
		"legacy, then escaped": {"a_b", "a.b"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *DestinationOptions) { o.ProtobufMessage = MessageV1 })
			for _, n := range order {
				require.Equal(t, Outcome{}, b.send(series(b, n), series(b, "other.name")))
				require.Equal(t, Outcome{}, b.send(series(b, n)))
			}
			b.metric(t, "name_collisions_total", "", "1")
			require.Contains(t, b.log.String(), order[1])
		})
	}
}
