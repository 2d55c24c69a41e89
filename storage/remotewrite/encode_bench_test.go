package remotewrite

import (
	"fmt"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// BenchmarkStages shows what a request of 1600 samples costs on its way to a
// far end, stage by stage: two targets, 50 metrics each, classic histograms of
// 16 series with twelve labels.
func BenchmarkStages(b *testing.B) {
	for name, message := range map[string]Message{"1.0": MessageV1, "2.0": MessageV2} {
		b.Run(name, func(b *testing.B) {
			o := DefaultDestinationOptions("http://localhost/write")
			o.ProtobufMessage = message
			group, err := New(Options{Destinations: []DestinationOptions{o}})
			if err != nil {
				b.Fatal(err)
			}
			s := group.Destinations()[0].NewSender()
			units := benchUnits(group.Table())
			v2 := message == MessageV2
			run := func(name string, stage func()) {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						stage()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1600), "ns/sample")
				})
			}
			prepare := func() {
				s.batch.units = s.batch.units[:0]
				s.prepare(units)
			}
			prepare()
			run("rows", prepare)
			run("order", func() { s.seq.order(s.rows) })
			encode := func() {
				if v2 {
					s.raw = s.enc.messageV2(s.rows)
					s.enc.reset()
				} else {
					s.raw = s.enc.AppendV1(s.raw[:0], s.rows)
				}
			}
			run("message", encode)
			encode()
			var body []byte
			run("snappy", func() { body = s2.EncodeSnappy(body[:cap(body)], s.raw) })
			b.Logf("%d bytes, %d compressed", len(s.raw), len(body))
		})
	}
}

func benchUnits(table *Table) []Unit {
	units := make([]Unit, 2)
	for target := range units {
		var samples []Sample
		for m := range 50 {
			for le := range 16 {
				ls := labels.FromStrings(
					"__name__", fmt.Sprintf("http_server_request_duration_%d_seconds_bucket", m/5),
					"http_request_method", "GET", "http_response_status_code", fmt.Sprint(200+m%5), "http_route", "/api/v1/items/{id}",
					"instance", fmt.Sprintf("4f1b6c1e-0000-4000-8000-%012d", target), "job", "shop/checkout", "le", fmt.Sprint(float64(le)/8),
					"network_protocol_version", "1.1", "otel_scope_name", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
					"otel_scope_version", "0.61.0", "server_address", "checkout.shop.svc", "url_scheme", "https")
				s := table.Series(0, ls, uint64(target))
				meta := s.Metadata(metadata.Metadata{Type: model.MetricTypeHistogram, Help: "Duration of HTTP server requests.", Unit: "seconds"}, "m")
				samples = append(samples, Sample{Series: s, Meta: meta, N: len(samples), T: 1700000000000, ST: 1690000000000, V: float64(m * le)})
			}
		}
		units[target].Parts = [][]Sample{samples}
	}
	return units
}
