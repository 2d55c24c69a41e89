//go:build !race

package remotewrite

import (
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/stretchr/testify/require"
)

// A warm sender turns samples into a compressed message without allocating.
func TestWarmEncodingAllocatesNothing(t *testing.T) {
	for name, message := range map[string]Message{"1.0": MessageV1, "2.0": MessageAuto} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *DestinationOptions) { o.ProtobufMessage = message })
			samples := b.floats(500)
			for i := range samples {
				samples[i].Meta = samples[i].Series.Metadata(metadata.Metadata{Type: model.MetricTypeCounter, Help: "Help."}, "m")
				samples[i].ST = 1
				samples[i].Exemplars = []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "abc"), Value: 1, Ts: 5, HasTs: true}}
				if i%10 == 0 {
					samples[i].H = nhcb()
					samples[i].H.Schema, samples[i].H.CustomValues = 0, nil
				}
			}
			v2 := message == MessageAuto
			encode := func() {
				rows := b.sender.encode(b.sender.seq.order(b.sender.prepare(samples)), v2)
				if len(rows) != len(samples) || len(b.sender.body.bytes) < 1000 {
					t.Fatal("nothing was encoded")
				}
			}
			encode()
			require.Zero(t, testing.AllocsPerRun(50, encode))
		})
	}
}

func TestKnownRefsAllocateNothing(t *testing.T) {
	table := NewTable(DefaultMaxSeries, Rule{})
	ls := numbered(1)
	ref := table.Series(0, ls).Ref()
	m := metadata.Metadata{Type: model.MetricTypeGauge, Help: "Help."}
	table.Series(ref, ls).Metadata(m, "m")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		table.Series(ref, ls).Metadata(m, "m")
		table.Series(0, ls)
	}))
}

func BenchmarkEncode(b *testing.B) {
	table := NewTable(DefaultMaxSeries, Rule{})
	var rows []Row
	for i := range 2000 {
		rows = append(rows, Row{Form: table.Series(0, labels.FromStrings(
			"__name__", "http_server_request_duration_seconds_bucket", "http_request_method", "GET", "http_route", "/api/v1/items",
			"instance", "a1", "job", "shop", "le", numbered(i%17).Get("i"), "pod", numbered(i/17).Get("i"))).forms[0], T: 1700000000000, V: float64(i)})
	}
	enc := NewEncoder()
	var raw, body []byte
	for name, encode := range map[string]func([]byte, []Row) []byte{"v1": enc.AppendV1, "v2": enc.AppendV2} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				raw = encode(raw[:0], rows)
				body = s2.EncodeSnappy(body[:cap(body)], raw)
			}
			b.ReportMetric(float64(len(body)), "bytes/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/sample")
		})
	}
}
