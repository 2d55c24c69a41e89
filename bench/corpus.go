package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// Corpus is one request that is sent again and again at later times, as an SDK
// does: its series are known from the second request on.
type Corpus struct {
	// Body is the request in OTLP protobuf, as the Collector encodes it.
	Body []byte
	// Points and Samples are what it holds: a classic histogram point of 15
	// buckets is one point and 17 samples.
	Points, Samples int

	times []int // where in Body the points' times stand
}

// Shape says what a request looks like.
type Shape struct {
	Name                     string
	Targets, Metrics, Points int
	Histograms, Exponential  bool
	AttributesPerPoint       int
}

// Shapes are the requests that are measured.
//
//   - small: a small service, 5 metrics of one point.
//   - sdk: a large SDK, 60 metrics of 10 points, all types.
//   - batch: a Collector's batch of 50 targets, 40 metrics of 4 points.
var Shapes = []Shape{
	{Name: "small", Targets: 1, Metrics: 5, Points: 1, AttributesPerPoint: 4},
	{Name: "sdk", Targets: 1, Metrics: 60, Points: 10, Histograms: true, Exponential: true, AttributesPerPoint: 4},
	{Name: "batch", Targets: 50, Metrics: 40, Points: 4, Histograms: true, AttributesPerPoint: 4},
}

// markNs is the time in a fresh corpus, by which the places to write later
// times to are found.
const markNs = 0x1122334455667788

// New makes a request of the given shape. Two corpora with different seeds
// share no series.
func (s Shape) New(seed int) *Corpus {
	c := &Corpus{}
	md := pmetric.NewMetrics()
	for target := range s.Targets {
		rm := md.ResourceMetrics().AppendEmpty()
		a := rm.Resource().Attributes()
		a.PutStr("service.name", "checkout")
		a.PutStr("service.namespace", "shop")
		a.PutStr("service.instance.id", fmt.Sprintf("seed-%d-target-%04d", seed, target))
		a.PutStr("service.version", "1.14.2")
		a.PutStr("k8s.pod.name", fmt.Sprintf("checkout-%d-%d", seed, target))
		a.PutStr("telemetry.sdk.language", "go")
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.Scope().SetName("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")
		sm.Scope().SetVersion("0.61.0")
		for i := range s.Metrics {
			s.metric(c, sm.Metrics().AppendEmpty(), i)
		}
	}
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	if err != nil {
		panic(err) // A corpus is code, not input.
	}
	c.Body = body
	mark := binary.LittleEndian.AppendUint64(nil, markNs)
	for i := 0; ; {
		n := bytes.Index(body[i:], mark)
		if n < 0 {
			return c
		}
		c.times = append(c.times, i+n)
		i += n + len(mark)
	}
}

// At sets the time of every point, in milliseconds, and returns the body.
func (c *Corpus) At(ms int64) []byte {
	for _, i := range c.times {
		binary.LittleEndian.PutUint64(c.Body[i:], uint64(ms)*1e6)
	}
	return c.Body
}

const (
	startNs  = 1_700_000_000_000_000_000
	buckets  = 15
	expCount = 160
)

func (s Shape) metric(c *Corpus, m pmetric.Metric, i int) {
	m.SetName(fmt.Sprintf("http.server.work.%02d", i))
	m.SetDescription("How much work the server has done, by route.")
	m.SetUnit("s")
	kind := i % 10
	switch {
	case kind == 8 && s.Exponential:
		h := m.SetEmptyExponentialHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for p := range s.Points {
			exponential(h.DataPoints().AppendEmpty(), s.attributes(p))
			c.Samples++
		}
	case (kind == 7 || kind == 9) && s.Histograms:
		h := m.SetEmptyHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for p := range s.Points {
			classic(h.DataPoints().AppendEmpty(), s.attributes(p))
			c.Samples += buckets + 2
		}
	case kind == 5 || kind == 6:
		for p := range s.Points {
			if p == 0 {
				m.SetEmptyGauge()
			}
			number(m.Gauge().DataPoints().AppendEmpty(), s.attributes(p), p)
			c.Samples++
		}
	default:
		sum := m.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for p := range s.Points {
			number(sum.DataPoints().AppendEmpty(), s.attributes(p), p)
			c.Samples++
		}
	}
	c.Points += s.Points
}

// attributes are those of an HTTP server's point.
func (s Shape) attributes(point int) pcommon.Map {
	keys := []string{"http.request.method", "http.route", "http.response.status_code", "url.scheme", "server.address", "network.protocol.version"}
	a := pcommon.NewMap()
	for i := range s.AttributesPerPoint {
		a.PutStr(keys[i%len(keys)], fmt.Sprintf("value-%d-%d", i, point))
	}
	return a
}

func number(p pmetric.NumberDataPoint, attributes pcommon.Map, value int) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(markNs)
	p.SetDoubleValue(float64(value) + 0.5)
	attributes.CopyTo(p.Attributes())
}

func classic(p pmetric.HistogramDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(markNs)
	for i := range buckets {
		p.BucketCounts().Append(uint64(i))
		if i > 0 {
			p.ExplicitBounds().Append(float64(i) / 4)
		}
		p.SetCount(p.Count() + uint64(i))
	}
	p.SetSum(42)
	attributes.CopyTo(p.Attributes())
}

func exponential(p pmetric.ExponentialHistogramDataPoint, attributes pcommon.Map) {
	p.SetStartTimestamp(startNs)
	p.SetTimestamp(markNs)
	p.SetScale(6)
	p.Positive().SetOffset(-20)
	for i := range expCount {
		p.Positive().BucketCounts().Append(uint64(i % 7))
		p.SetCount(p.Count() + uint64(i%7))
	}
	p.SetSum(42)
	attributes.CopyTo(p.Attributes())
}
