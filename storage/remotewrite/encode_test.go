package remotewrite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

func rowOf(s *Series, sm Sample) Row {
	sm.Series = s
	return Row{Sample: &sm, Form: &s.Form}
}

// randomRows returns rows as a Sender gives them to an Encoder: the rows of a
// series together and in time order.
func randomRows(r *rand.Rand, table *Table, nhcb bool) []Row {
	var rows []Row
	for range 1 + r.IntN(12) {
		b := labels.NewScratchBuilder(8)
		b.Add("__name__", fmt.Sprintf("metric_%d", r.IntN(1000)))
		for i := range r.IntN(6) {
			b.Add(fmt.Sprintf("label_%d", i), randomText(r))
		}
		b.Sort()
		s := table.Series(0, b.Labels(), r.Uint64N(2))
		meta := s.Metadata(metadata.Metadata{
			Type: []model.MetricType{"", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset", "unknown"}[r.IntN(9)],
			Help: []string{"", "what it counts", randomText(r)}[r.IntN(3)],
			Unit: []string{"", "seconds", "bytes"}[r.IntN(3)],
		}, "")
		if r.IntN(5) == 0 {
			meta = nil
		}
		t := int64(1700000000000) + r.Int64N(1e9)
		if slices.ContainsFunc(rows, func(o Row) bool { return o.Form == &s.Form }) {
			continue
		}
		for range 1 + r.IntN(5) {
			t += r.Int64N(1000)
			row := rowOf(s, Sample{Meta: meta, T: t})
			if r.IntN(2) == 0 {
				row.ST = t - r.Int64N(1e6)
			}
			switch r.IntN(4) {
			case 0:
				row.H = randomHistogram(r, nhcb)
			case 1:
				row.FH = randomHistogram(r, nhcb).ToFloat(nil)
				row.FH.Count += 0.5
			default:
				row.V = []float64{0, math.Copysign(0, -1), r.NormFloat64(), math.Inf(1), math.NaN(), math.Float64frombits(value.StaleNaN)}[r.IntN(6)]
			}
			for range r.IntN(3) {
				row.Exemplars = append(row.Exemplars, exemplar.Exemplar{
					Labels: labels.FromStrings("trace_id", randomText(r)), Value: r.Float64(), Ts: t - r.Int64N(100), HasTs: true,
				})
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func randomText(r *rand.Rand) string {
	text := make([]byte, 1+r.IntN(200)*r.IntN(2))
	for i := range text {
		text[i] = byte('a' + r.IntN(26))
	}
	return string(text)
}

func randomHistogram(r *rand.Rand, nhcb bool) *histogram.Histogram {
	h := &histogram.Histogram{
		CounterResetHint: histogram.CounterResetHint(r.IntN(4)),
		Count:            r.Uint64N(1 << 40), Sum: r.NormFloat64() * 1e6, Schema: int32(r.IntN(13)) - 4,
		ZeroThreshold: r.Float64(), ZeroCount: r.Uint64N(3),
	}
	spans := func() (out []histogram.Span, buckets []int64) {
		for range r.IntN(4) {
			n := 1 + r.IntN(40)
			out = append(out, histogram.Span{Offset: int32(r.IntN(400) - 200), Length: uint32(n)})
			for range n {
				buckets = append(buckets, r.Int64N(1<<20)-1<<19)
			}
		}
		return out, buckets
	}
	h.PositiveSpans, h.PositiveBuckets = spans()
	if nhcb && r.IntN(2) == 0 {
		h.Schema, h.ZeroThreshold, h.ZeroCount = histogram.CustomBucketsSchema, 0, 0
		for i := range 1 + r.IntN(30) {
			h.CustomValues = append(h.CustomValues, float64(i)+r.Float64())
		}
		return h
	}
	h.NegativeSpans, h.NegativeBuckets = spans()
	return h
}

// wantV2 builds the message that rows should be with Prometheus's own types.
func wantV2(rows []Row) []writev2.TimeSeries {
	var out []writev2.TimeSeries
	for i, r := range rows {
		if i == 0 || !sameSeriesV2(&rows[i-1], &r) {
			out = append(out, writev2.TimeSeries{})
		}
		ts := &out[len(out)-1]
		switch {
		case r.FH != nil:
			ts.Histograms = append(ts.Histograms, writev2.FromFloatHistogram(r.ST, r.T, r.FH))
		case r.H != nil:
			ts.Histograms = append(ts.Histograms, writev2.FromIntHistogram(r.ST, r.T, r.H))
		default:
			ts.Samples = append(ts.Samples, writev2.Sample{Value: r.V, Timestamp: r.T, StartTimestamp: r.ST})
		}
	}
	return out
}

func TestV2DecodesToWhatWasEncoded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table := NewTable(DefaultMaxSeries, Rule{})
	enc := NewEncoder(table)
	var dst []byte
	for round := range 150 {
		if round%50 == 49 {
			table.dict.Store(newDictionary()) // rows of both follow
		}
		rows := randomRows(r, table, true)
		prefix := len(dst) % 7
		dst = enc.AppendV2(append(dst[:0], make([]byte, prefix)...), rows)
		require.Equal(t, make([]byte, prefix), dst[:prefix], "what dst held before stays")
		var got writev2.Request
		require.NoError(t, proto.Unmarshal(dst[prefix:], &got))

		require.Equal(t, "", got.Symbols[0])
		sorted := slices.Sorted(slices.Values(got.Symbols))
		require.Len(t, slices.Compact(sorted), len(got.Symbols), "symbols are unique")
		want := wantV2(rows)
		require.Len(t, got.Timeseries, len(want), "round %d", round)
		at := 0
		b := labels.NewScratchBuilder(0)
		for i, ts := range got.Timeseries {
			row := rows[at]
			ls, err := ts.ToLabels(&b, got.Symbols)
			require.NoError(t, err)
			require.Equal(t, row.Form.labels.String(), ls.String())
			require.True(t, len(ts.Samples) == 0 || len(ts.Histograms) == 0)
			requireSame(t, want[i].Samples, ts.Samples)
			requireSame(t, want[i].Histograms, ts.Histograms)
			m, err := ts.ToMetadata(got.Symbols)
			require.NoError(t, err)
			wantMeta := metadata.Metadata{Type: model.MetricTypeUnknown}
			if row.Meta != nil {
				wantMeta.Help, wantMeta.Unit = row.Meta.Help, row.Meta.Unit
				if row.Meta.Type != "" {
					wantMeta.Type = row.Meta.Type
				}
			}
			require.Equal(t, wantMeta, m)
			var exemplars []exemplar.Exemplar
			for range len(ts.Samples) + len(ts.Histograms) {
				exemplars = append(exemplars, rows[at].Exemplars...)
				at++
			}
			require.Len(t, ts.Exemplars, len(exemplars))
			for i, e := range ts.Exemplars {
				ex, err := e.ToExemplar(&b, got.Symbols)
				require.NoError(t, err)
				require.True(t, exemplars[i].Equals(ex), "%v, %v", exemplars[i], ex)
			}
		}
		require.Equal(t, len(rows), at)
	}
}

func TestV1DecodesToWhatWasEncoded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	table := NewTable(DefaultMaxSeries, Rule{})
	enc := NewEncoder(table)
	var dst []byte
	for range 150 {
		rows := randomRows(r, table, false)
		dst = enc.AppendV1(dst[:0], rows)
		var got prompb.WriteRequest
		require.NoError(t, proto.Unmarshal(dst, &got))
		at := 0
		for _, ts := range got.Timeseries {
			require.Equal(t, prompb.FromLabels(rows[at].Form.labels, nil), ts.Labels)
			require.True(t, len(ts.Samples) == 0 || len(ts.Histograms) == 0)
			var want prompb.TimeSeries
			for range len(ts.Samples) + len(ts.Histograms) {
				row := rows[at]
				switch {
				case row.FH != nil:
					want.Histograms = append(want.Histograms, prompb.FromFloatHistogram(row.T, row.FH))
				case row.H != nil:
					want.Histograms = append(want.Histograms, prompb.FromIntHistogram(row.T, row.H))
				default:
					want.Samples = append(want.Samples, prompb.Sample{Value: row.V, Timestamp: row.T})
				}
				for _, e := range row.Exemplars {
					want.Exemplars = append(want.Exemplars, prompb.Exemplar{Labels: prompb.FromLabels(e.Labels, nil), Value: e.Value, Timestamp: e.Ts})
				}
				at++
			}
			requireSame(t, want.Samples, ts.Samples)
			requireSame(t, want.Histograms, ts.Histograms)
			require.Equal(t, want.Exemplars, ts.Exemplars)
		}
		require.Equal(t, len(rows), at)

		families := map[string]bool{}
		for _, row := range rows {
			if !row.Meta.empty() {
				families[row.Meta.Family] = true
			}
		}
		for _, m := range got.Metadata {
			require.True(t, families[m.MetricFamilyName], "%s comes once and is of a row", m.MetricFamilyName)
			delete(families, m.MetricFamilyName)
		}
		require.Empty(t, families)
	}
}

// requireSame compares messages by their encoding, where NaN equals itself and
// negative zero is not zero.
func requireSame[T any](t *testing.T, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, fmt.Sprintf("%#v", bitsOf(want[i])), fmt.Sprintf("%#v", bitsOf(got[i])))
	}
}

func bitsOf(v any) any {
	switch s := v.(type) {
	case writev2.Sample:
		return [3]uint64{math.Float64bits(s.Value), uint64(s.Timestamp), uint64(s.StartTimestamp)}
	case prompb.Sample:
		return [2]uint64{math.Float64bits(s.Value), uint64(s.Timestamp)}
	case writev2.Histogram:
		return s.String()
	case prompb.Histogram:
		return s.String()
	}
	return v
}

// Start timestamps, and the specification's example of a message: fields are where the
// generated code of Prometheus has them, so this is for the eye.
func TestV2StartTime(t *testing.T) {
	table := NewTable(DefaultMaxSeries, Rule{})
	s := table.Series(0, labels.FromStrings("__name__", "requests_total", "job", "shop"), 0)
	var got writev2.Request
	require.NoError(t, proto.Unmarshal(NewEncoder(table).AppendV2(nil, []Row{rowOf(s, Sample{
		T: 2000, ST: 1000, V: 4,
		Meta: s.Metadata(metadata.Metadata{Type: model.MetricTypeCounter, Help: "Requests.", Unit: "requests"}, ""),
	})}), &got))
	require.Equal(t, writev2.Request{
		Symbols: []string{"", "__name__", "requests_total", "job", "shop", "Requests.", "requests"},
		Timeseries: []writev2.TimeSeries{{
			LabelsRefs: []uint32{1, 2, 3, 4},
			Samples:    []writev2.Sample{{Value: 4, Timestamp: 2000, StartTimestamp: 1000}},
			Metadata:   writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER, HelpRef: 5, UnitRef: 6},
		}},
	}, got)
}

func TestV1EscapesNames(t *testing.T) {
	for name, tc := range map[string]struct {
		in   labels.Labels
		want []prompb.Label
	}{
		"legacy names stay": {
			labels.FromStrings("__name__", "a:b_total", "job", "x.y"),
			[]prompb.Label{{Name: "__name__", Value: "a:b_total"}, {Name: "job", Value: "x.y"}},
		},
		"metric and label names": {
			labels.FromStrings("__name__", "http.server/duration", "1st", "v", "http.route", "/é", "地域", "x"),
			[]prompb.Label{{Name: "__name__", Value: "http_server_duration"}, {Name: "_st", Value: "v"}, {Name: "http_route", Value: "/é"}, {Name: "key__", Value: "x"}},
		},
		"names that become one are joined": {
			labels.FromStrings("__name__", "m", "a.b", "1", "a/b", "2", "a_b", "3"),
			[]prompb.Label{{Name: "__name__", Value: "m"}, {Name: "a_b", Value: "1;2;3"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(DefaultMaxSeries, Rule{})
			s := table.Series(0, tc.in, 0)
			var got prompb.WriteRequest
			require.NoError(t, proto.Unmarshal(NewEncoder(table).AppendV1(nil, []Row{rowOf(s, Sample{T: 1})}), &got))
			require.Equal(t, tc.want, got.Timeseries[0].Labels)
		})
	}
}

func TestExemplarWithoutTimeTakesItsSamples(t *testing.T) {
	table := NewTable(DefaultMaxSeries, Rule{})
	s := table.Series(0, labels.FromStrings("__name__", "m"), 0)
	rows := []Row{rowOf(s, Sample{T: 77, Exemplars: []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "t"), Value: 1}}})}
	var v2 writev2.Request
	require.NoError(t, proto.Unmarshal(NewEncoder(table).AppendV2(nil, rows), &v2))
	require.EqualValues(t, 77, v2.Timeseries[0].Exemplars[0].Timestamp)
	var v1 prompb.WriteRequest
	require.NoError(t, proto.Unmarshal(NewEncoder(table).AppendV1(nil, rows), &v1))
	require.EqualValues(t, 77, v1.Timeseries[0].Exemplars[0].Timestamp)
}
