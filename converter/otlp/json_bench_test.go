package otlp

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// jsonBenchRequest is what an SDK exports: one resource, counters and
// histograms with a few attributes.
func jsonBenchRequest(b *testing.B) []byte {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "checkout")
	rm.Resource().Attributes().PutStr("service.instance.id", "627cc493-f310-47de-96bd-71410b7dec09")
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")
	attributes := func(m pcommon.Map, i int) {
		m.PutStr("http.request.method", "GET")
		m.PutStr("http.route", fmt.Sprintf("/api/v1/orders/%d", i))
		m.PutInt("http.response.status_code", 200)
	}
	for i := range 50 {
		m := sm.Metrics().AppendEmpty()
		m.SetName(fmt.Sprintf("http.server.requests.%d", i))
		m.SetUnit("{request}")
		sum := m.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for j := range 10 {
			p := sum.DataPoints().AppendEmpty()
			attributes(p.Attributes(), j)
			p.SetStartTimestamp(1700000000000000000)
			p.SetTimestamp(1700000015000000000)
			p.SetIntValue(int64(i * j))
		}
		m = sm.Metrics().AppendEmpty()
		m.SetName(fmt.Sprintf("http.server.request.duration.%d", i))
		m.SetUnit("s")
		histogram := m.SetEmptyHistogram()
		histogram.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for j := range 10 {
			p := histogram.DataPoints().AppendEmpty()
			attributes(p.Attributes(), j)
			p.SetStartTimestamp(1700000000000000000)
			p.SetTimestamp(1700000015000000000)
			p.SetCount(15)
			p.SetSum(1.234567 * float64(j))
			p.ExplicitBounds().FromRaw([]float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10})
			p.BucketCounts().FromRaw([]uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
		}
	}
	src, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalJSON()
	require.NoError(b, err)
	return src
}

// BenchmarkJSON compares AppendJSON with pdata's way to the same bytes.
func BenchmarkJSON(b *testing.B) {
	src := jsonBenchRequest(b)
	b.Run("append", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			var err error
			if dst, err = AppendJSON(dst[:0], src); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(dst))/float64(len(src)), "out/in")
	})
	b.Run("pdata", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			r := pmetricotlp.NewExportRequest()
			if err := r.UnmarshalJSON(src); err != nil {
				b.Fatal(err)
			}
			if _, err := r.MarshalProto(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
