//go:build !race

package remotewrite

import (
	"testing"

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
			units := []Unit{{Parts: [][]Sample{samples}}}
			encode := func() {
				b.sender.prepare(units)
				rows := b.sender.encode(b.sender.seq.order(b.sender.rows), v2)
				b.sender.batch.units = b.sender.batch.units[:0]
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
	ref := table.Series(0, ls, 0).Ref(table)
	m := metadata.Metadata{Type: model.MetricTypeGauge, Help: "Help."}
	table.Series(ref, ls, 0).Metadata(m, "m")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		table.Series(ref, ls, 0).Metadata(m, "m")
		table.Series(0, ls, 0)
	}))
}
