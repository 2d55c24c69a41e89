package bench

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Shape says what a request looks like.
type Shape struct {
	// Name is the shape in the names of benchmarks.
	Name string
	// Targets are the resources of one request, each with Metrics metrics of
	// Points points.
	Targets, Metrics, Points int
	// Of ten metrics five are counters and two are gauges. Of the other three,
	// Histograms makes the last and the third last histograms of 15 buckets,
	// Summaries the third last a summary of 5 quantiles instead, and Exponential
	// the second last an exponential histogram of 40 buckets, or of 160, the most
	// that SDKs make, if Wide is set. What is not set is one more counter.
	Histograms, Exponential, Wide, Summaries bool
	// AttributesPerPoint is how many attributes a point has.
	AttributesPerPoint int
	// Churn is the share of points, from 0 to 1, that [Corpus.Renew] gives new
	// attributes.
	Churn float64
	// Ascending writes the fields of a message in ascending order, as SDKs do.
	// The Collector's marshaler, which is the default here, descends.
	Ascending bool
}

// Shapes are the requests that are measured.
//
//   - small: a small service, 5 metrics of one point.
//   - sdk: a large SDK, 60 metrics of 10 points, all types that SDKs make.
//   - batch: a Collector's batch of 50 targets, 40 metrics of 4 points.
var Shapes = []Shape{
	{Name: "small", Targets: 1, Metrics: 5, Points: 1, AttributesPerPoint: 4},
	{Name: "sdk", Targets: 1, Metrics: 60, Points: 10, Histograms: true, Exponential: true, AttributesPerPoint: 4},
	{Name: "batch", Targets: 50, Metrics: 40, Points: 4, Histograms: true, AttributesPerPoint: 4},
}

// Variants change one property of the sdk shape each.
var Variants = []Shape{
	{Name: "ascending", Targets: 1, Metrics: 60, Points: 10, Histograms: true, Exponential: true, AttributesPerPoint: 4, Ascending: true},
	{Name: "wide", Targets: 1, Metrics: 60, Points: 10, Histograms: true, Exponential: true, Wide: true, AttributesPerPoint: 4},
	{Name: "summaries", Targets: 1, Metrics: 60, Points: 10, Histograms: true, Exponential: true, Summaries: true, AttributesPerPoint: 4},
	{Name: "numbers", Targets: 1, Metrics: 60, Points: 10, AttributesPerPoint: 4},
	{Name: "bare", Targets: 1, Metrics: 600, Points: 1, Histograms: true, Exponential: true},
	{Name: "attributes", Targets: 1, Metrics: 60, Points: 10, Histograms: true, Exponential: true, AttributesPerPoint: 12},
}

// shape returns the member of Shapes with the given name.
func shape(name string) Shape {
	for _, s := range Shapes {
		if s.Name == name {
			return s
		}
	}
	panic("no shape is named " + name) // A name is code, not input.
}

// Corpus is one request that is sent again and again at later times, as an SDK
// does: its series are known from the second request on. It is patched in
// place, so it serves one handler at a time and memory holds one body however
// many targets it plays.
type Corpus struct {
	// Body is the request in OTLP protobuf.
	Body []byte
	// Points and Samples are what it holds: a classic histogram point of 15
	// buckets is one point and 17 samples. target_info is not among them.
	Points, Samples int

	times, seeds, fresh []int // where in Body they stand
}

// New makes a request of the given shape. Two corpora with different seeds
// share no series.
func (s Shape) New(seed int) *Corpus {
	c, v := &Corpus{}, newValues()
	md := pmetric.NewMetrics()
	for target := range s.Targets {
		rm := md.ResourceMetrics().AppendEmpty()
		a := rm.Resource().Attributes()
		a.PutStr("service.name", "checkout")
		a.PutStr("service.namespace", "shop")
		a.PutStr("service.instance.id", fmt.Sprintf("seed-%s-target-%04d", seedMark, target))
		a.PutStr("service.version", "1.14.2")
		a.PutStr("k8s.pod.name", fmt.Sprintf("checkout-%s-%d", seedMark, target))
		a.PutStr("telemetry.sdk.language", "go")
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.Scope().SetName("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")
		sm.Scope().SetVersion("0.61.0")
		for i := range s.Metrics {
			s.metric(c, v, sm.Metrics().AppendEmpty(), i)
		}
	}
	c.encode(md, s.Ascending)
	c.Seed(seed)
	return c
}

func (s Shape) metric(c *Corpus, v values, m pmetric.Metric, i int) {
	m.SetName(fmt.Sprintf("http.server.work.%02d", i))
	m.SetDescription("How much work the server has done, by route.")
	m.SetUnit("s")
	switch kind := i % 10; {
	case kind == 7 && s.Summaries:
		points := m.SetEmptySummary().DataPoints()
		for p := range s.Points {
			v.summary(points.AppendEmpty(), s.attributes(c, p))
			c.count(len(quantiles) + 2)
		}
	case kind == 8 && s.Exponential:
		h := m.SetEmptyExponentialHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for p := range s.Points {
			v.exponential(h.DataPoints().AppendEmpty(), s.attributes(c, p), s.Wide)
			c.count(1)
		}
	case (kind == 7 || kind == 9) && s.Histograms:
		h := m.SetEmptyHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for p := range s.Points {
			v.classic(h.DataPoints().AppendEmpty(), s.attributes(c, p))
			c.count(buckets + 2)
		}
	case kind == 5 || kind == 6:
		points := m.SetEmptyGauge().DataPoints()
		for p := range s.Points {
			v.number(points.AppendEmpty(), s.attributes(c, p))
			c.count(1)
		}
	default:
		sum := m.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for p := range s.Points {
			v.number(sum.DataPoints().AppendEmpty(), s.attributes(c, p))
			c.count(1)
		}
	}
}

func (c *Corpus) count(samples int) {
	c.Points++
	c.Samples += samples
}

// attributeKeys are those of an HTTP server's points, the usual ones first.
var attributeKeys = []string{
	"http.request.method", "http.route", "http.response.status_code", "url.scheme", "server.address", "network.protocol.version",
	"server.port", "error.type", "user_agent.synthetic.type", "network.protocol.name", "http.request.resend_count", "client.address",
}

// attributes returns those of the next point of c, the nth of its metric.
func (s Shape) attributes(c *Corpus, n int) pcommon.Map {
	a := pcommon.NewMap()
	for i := range min(s.AttributesPerPoint, len(attributeKeys)) {
		a.PutStr(attributeKeys[i], fmt.Sprintf("value-%d-%d", i, n))
	}
	// Spread evenly: the share of the points so far is never off by a whole one.
	if int(float64(c.Points+1)*s.Churn) > int(float64(c.Points)*s.Churn) {
		a.PutStr(attributeKeys[1], fmt.Sprintf("value-%s-%d", freshMark, n))
	}
	return a
}
