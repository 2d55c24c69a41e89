package bench

import (
	"context"
	"slices"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// BenchmarkEncode makes the remote-write messages of a request whose series are
// known, of as many samples each as are sent by default.
func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{"sdk", "batch"} {
		s := shape(name)
		b.Run("v1/"+s.Name, func(b *testing.B) { encode(b, s, (*remotewrite.Encoder).AppendV1, countV1) })
		b.Run("v2/"+s.Name, func(b *testing.B) { encode(b, s, (*remotewrite.Encoder).AppendV2, countV2) })
	}
}

// BenchmarkSnappy compresses these messages.
func BenchmarkSnappy(b *testing.B) {
	for _, name := range []string{"sdk", "batch"} {
		s := shape(name)
		b.Run("v1/"+s.Name, func(b *testing.B) { compressMessages(b, s, (*remotewrite.Encoder).AppendV1) })
		b.Run("v2/"+s.Name, func(b *testing.B) { compressMessages(b, s, (*remotewrite.Encoder).AppendV2) })
	}
}

type appendMessage func(e *remotewrite.Encoder, dst []byte, rows []remotewrite.Row) []byte

// encode measures one encoder; count says how many samples a message holds.
func encode(b *testing.B, s Shape, message appendMessage, count func(testing.TB, []byte) int) {
	oneCore(b)
	c := newCollector(b, s)
	var out []byte
	size, samples := 0, 0
	for rows := range c.batches() {
		out = message(c.encoder, out[:0], rows)
		size += len(out)
		samples += count(b, out)
	}
	if samples != len(c.rows) {
		b.Fatalf("the messages hold %d samples, want %d", samples, len(c.rows))
	}
	b.ReportAllocs()
	b.SetBytes(int64(size))
	for b.Loop() {
		for rows := range c.batches() {
			out = message(c.encoder, out[:0], rows)
		}
	}
	b.ReportMetric(float64(b.N*len(c.rows))/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64(size)/float64(len(c.rows)), "B/sample")
}

func countV1(tb testing.TB, message []byte) (samples int) {
	tb.Helper()
	var m prompb.WriteRequest
	if err := proto.Unmarshal(message, &m); err != nil {
		tb.Fatal(err)
	}
	for i := range m.Timeseries {
		samples += len(m.Timeseries[i].Samples) + len(m.Timeseries[i].Histograms)
	}
	return samples
}

func countV2(tb testing.TB, message []byte) (samples int) {
	tb.Helper()
	var m writev2.Request
	if err := m.Unmarshal(message); err != nil {
		tb.Fatal(err)
	}
	for i := range m.Timeseries {
		samples += len(m.Timeseries[i].Samples) + len(m.Timeseries[i].Histograms)
	}
	return samples
}

func compressMessages(b *testing.B, s Shape, message appendMessage) {
	oneCore(b)
	c := newCollector(b, s)
	var messages [][]byte
	size, wire := 0, 0
	for rows := range c.batches() {
		m := message(c.encoder, nil, rows)
		messages = append(messages, m)
		size += len(m)
	}
	b.ReportAllocs()
	b.SetBytes(int64(size))
	var out []byte
	for b.Loop() {
		wire = 0
		for _, m := range messages {
			out = s2.EncodeSnappy(out[:cap(out)], m)
			wire += len(out)
		}
	}
	b.ReportMetric(float64(b.N*len(c.rows))/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64(wire)/float64(len(c.rows)), "B/sample")
}

// collector is a backend that keeps what it gets as storage/direct does, for
// one destination without rules.
type collector struct {
	void
	table   *remotewrite.Table
	encoder *remotewrite.Encoder
	target  uint64
	samples []remotewrite.Sample
	rows    []remotewrite.Row
}

// newCollector returns one with the rows of the second request of a shape.
func newCollector(tb testing.TB, s Shape) *collector {
	c := &collector{table: remotewrite.NewTable(manySeries, remotewrite.Rule{})}
	c.encoder = remotewrite.NewEncoder(c.table)
	p, cl := newProductWith(tb, converter.Options{Backend: c}), newClient(s.New(0))
	for range 2 {
		c.samples = c.samples[:0]
		cl.next()
		cl.push(tb, p.pipeline)
	}
	if want := cl.corpus.Samples + s.Targets; len(c.samples) != want {
		tb.Fatalf("a request has %d samples, want %d", len(c.samples), want)
	}
	for i := range c.samples {
		c.rows = append(c.rows, remotewrite.Row{Sample: &c.samples[i], Form: c.samples[i].Series.To(c.table, 0)})
	}
	return c
}

// batches returns the rows of one message after the other.
func (c *collector) batches() func(func([]remotewrite.Row) bool) {
	return slices.Chunk(c.rows, remotewrite.DefaultMaxSamplesPerSend)
}

func (c *collector) AppenderV2(context.Context) promstorage.AppenderV2 { return c }

func (c *collector) Target(hash uint64) int {
	c.target = hash
	return 0
}

func (c *collector) Append(ref promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	s := c.table.Series(ref, ls, c.target)
	c.samples = append(c.samples, remotewrite.Sample{
		Series: s, Meta: s.Metadata(opts.Metadata, opts.MetricFamilyName), N: len(c.samples),
		T: t, ST: st, V: v, H: h, FH: fh,
	})
	return s.Ref(c.table), nil
}
