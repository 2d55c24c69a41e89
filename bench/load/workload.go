package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// A request of the load has metrics of points of samples: 10 histograms of 5
// routes, each of 14 buckets, a sum and a count.
const (
	metrics           = 10
	points            = 5
	buckets           = 14
	samplesPerRequest = metrics * points * (buckets + 2)
)

// timeMark stands where the time of a point is to be written.
const timeMark = 0x1122334455667788

// startNs is when all counters began, in nanoseconds since the epoch.
const startNs = 1_700_000_000_000_000_000

// target is one that sends the same series again and again, each time later.
// One sender has it.
type target struct {
	body  []byte
	times []int // where in body a time stands
	ms    int64
}

// next moves all points a tenth of a second on and returns the request, which is valid
// until the next call.
func (t *target) next() []byte {
	t.ms += 100
	for _, i := range t.times {
		binary.LittleEndian.PutUint64(t.body[i:], uint64(t.ms)*1e6)
	}
	return t.body
}

func newTarget(md pmetric.Metrics, ms int64) (*target, error) {
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	if err != nil {
		return nil, err
	}
	t := &target{body: body, ms: ms}
	mark := binary.LittleEndian.AppendUint64(nil, timeMark)
	for i := 0; ; i += len(mark) {
		n := bytes.Index(body[i:], mark)
		if n < 0 {
			return t, nil
		}
		i += n
		t.times = append(t.times, i)
	}
}

// largeTarget is the nth target of the load.
func largeTarget(n int, ms int64) (*target, error) {
	md, ms1 := resource(n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range metrics {
		m := ms1.AppendEmpty()
		m.SetName(fmt.Sprintf("http.server.work.%02d", i))
		m.SetDescription("How long the server has worked, by route.")
		m.SetUnit("s")
		h := m.SetEmptyHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for p := range points {
			point := h.DataPoints().AppendEmpty()
			point.SetStartTimestamp(startNs)
			point.SetTimestamp(timeMark)
			for b := range buckets {
				count := r.Uint64N(1000)
				point.BucketCounts().Append(count)
				point.SetCount(point.Count() + count)
				if b > 0 {
					point.ExplicitBounds().Append(float64(b) / 4)
				}
			}
			point.SetSum(1000 * r.Float64())
			attributes(point.Attributes(), p)
		}
	}
	return newTarget(md, ms)
}

// smallPoints are the samples of a small request.
const smallPoints = 5

// smallTarget sends one gauge.
func smallTarget(ms int64) (*target, error) {
	md, ms1 := resource(0)
	m := ms1.AppendEmpty()
	m.SetName("http.server.active_requests")
	m.SetUnit("{request}")
	g := m.SetEmptyGauge()
	for p := range smallPoints {
		point := g.DataPoints().AppendEmpty()
		point.SetTimestamp(timeMark)
		point.SetIntValue(int64(p))
		attributes(point.Attributes(), p)
	}
	return newTarget(md, ms)
}

func resource(n int) (pmetric.Metrics, pmetric.MetricSlice) {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	a := rm.Resource().Attributes()
	a.PutStr("service.name", "checkout")
	a.PutStr("service.namespace", "shop")
	a.PutStr("service.instance.id", instance(n))
	a.PutStr("service.version", "1.14.2")
	a.PutStr("k8s.pod.name", fmt.Sprintf("checkout-%04d", n))
	a.PutStr("telemetry.sdk.language", "go")
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("example.org/instrumentation/http")
	sm.Scope().SetVersion("0.61.0")
	return md, sm.Metrics()
}

func instance(n int) string { return fmt.Sprintf("instance-%08d", n) }

var keys = []string{"http.request.method", "http.route", "http.response.status_code", "server.address"}

func attributes(a pcommon.Map, point int) {
	for i, k := range keys {
		a.PutStr(k, value(i, point))
	}
}

func value(key, point int) string { return fmt.Sprintf("value-%d-%d", key, point) }

// readyMade is the remote-write 2.0 body of one target's request, as a Snappy
// block: what the relay posts.
func readyMade(ms int64) ([]byte, error) {
	symbols, r := writev2.NewSymbolTable(), &writev2.Request{}
	rnd := rand.New(rand.NewPCG(0, 1))
	for m := range metrics {
		name := fmt.Sprintf("http_server_work_%02d_seconds", m)
		help := symbols.Symbolize("How long the server has worked, by route.")
		unit := symbols.Symbolize("s")
		for p := range points {
			for b := range buckets + 2 {
				l := labels.NewBuilder(labels.EmptyLabels())
				l.Set("job", "shop/checkout")
				l.Set("instance", instance(0))
				l.Set("otel_scope_name", "example.org/instrumentation/http")
				l.Set("otel_scope_version", "0.61.0")
				l.Set("http_request_method", value(0, p))
				l.Set("http_route", value(1, p))
				l.Set("http_response_status_code", value(2, p))
				l.Set("server_address", value(3, p))
				switch b {
				case buckets:
					l.Set(model.MetricNameLabel, name+"_sum")
				case buckets + 1:
					l.Set(model.MetricNameLabel, name+"_count")
				default:
					l.Set(model.MetricNameLabel, name+"_bucket")
					l.Set("le", fmt.Sprint(float64(b)/4))
				}
				r.Timeseries = append(r.Timeseries, writev2.TimeSeries{
					LabelsRefs: symbols.SymbolizeLabels(l.Labels(), nil),
					Samples:    []writev2.Sample{{Value: float64(rnd.Uint64N(1000)), Timestamp: ms, StartTimestamp: startNs / 1e6}},
					Metadata:   writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_HISTOGRAM, HelpRef: help, UnitRef: unit},
				})
			}
		}
	}
	r.Symbols = symbols.Symbols()
	raw, err := r.Marshal()
	if err != nil {
		return nil, err
	}
	return snappy.Encode(nil, raw), nil
}
