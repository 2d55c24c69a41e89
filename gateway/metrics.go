package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// format is how a request and its answer are written.
type format uint8

const (
	// noFormat is a request whose encoding was not understood, or not asked
	// for.
	noFormat format = iota
	protobufFormat
	jsonFormat
)

var formatNames = [...]string{noFormat: "none", protobufFormat: "protobuf", jsonFormat: "json"}

// Reasons why admission refuses.
const (
	refusedBytes = iota
	refusedSlots
	refusedDraining
)

var refusalNames = [...]string{refusedBytes: "bytes", refusedSlots: "slots", refusedDraining: "draining"}

// Reasons why a tenant is not served.
const (
	deniedMissing = iota
	deniedInvalid
	deniedUnlisted
	deniedSurplus
)

var denialNames = [...]string{deniedMissing: "missing", deniedInvalid: "invalid", deniedUnlisted: "unlisted", deniedSurplus: "surplus"}

// Codes that this room answers with, per transport. The label sets are closed.
var (
	httpOutcomes = []int{
		http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	grpcOutcomes = map[codes.Code]string{
		codes.OK:                "OK",
		codes.InvalidArgument:   "INVALID_ARGUMENT",
		codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
		codes.Unavailable:       "UNAVAILABLE",
		codes.Unimplemented:     "UNIMPLEMENTED",
		codes.PermissionDenied:  "PERMISSION_DENIED",
		codes.Unauthenticated:   "UNAUTHENTICATED",
		codes.Internal:          "INTERNAL",
	}
)

// metrics is what the room tells about itself. Children are resolved at
// construction.
type metrics struct {
	http     map[int]*[len(formatNames)]prometheus.Counter
	grpc     map[codes.Code]prometheus.Counter
	httpOK   [len(formatNames)]prometheus.Counter
	grpcOK   prometheus.Counter
	refused  [len(refusalNames)]prometheus.Counter
	denied   [len(denialNames)]prometheus.Counter
	panics   prometheus.Counter
	overHTTP transportMetrics
	overGRPC transportMetrics
}

// transportMetrics are the same for each transport.
type transportMetrics struct {
	inFlight prometheus.Gauge
	duration prometheus.Observer
	size     prometheus.Observer
}

func newMetrics(reg prometheus.Registerer, g *gate, t *tenants) (*metrics, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "otlpgw_gateway_requests_total",
		Help: "Requests answered, by transport, encoding of the body and status code.",
	}, []string{"transport", "encoding", "code"})
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "otlpgw_gateway_refusals_total",
		Help: "Requests told to come back later, by what was short.",
	}, []string{"reason"})
	denials := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "otlpgw_gateway_denied_requests_total",
		Help: "Requests refused for their tenant, and resources in them, by what is wrong with it.",
	}, []string{"reason"})
	panics := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "otlpgw_gateway_panics_total",
		Help: "Panics caught while serving a request. Each is a bug.",
	})
	inFlight := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "otlpgw_gateway_in_flight_requests",
		Help: "Requests between their header and their answer.",
	}, []string{"transport"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "otlpgw_gateway_request_duration_seconds",
		Help:    "Time from a request's header to its answer.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
	}, []string{"transport"})
	size := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "otlpgw_gateway_request_size_bytes",
		Help:    "Inflated size of the requests that reached conversion.",
		Buckets: prometheus.ExponentialBuckets(1<<10, 4, 9),
	}, []string{"transport"})
	bytes := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "otlpgw_gateway_in_flight_bytes",
		Help: "Weight of the requests in flight.",
	}, func() float64 { return float64(g.used.Load()) })
	limit := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "otlpgw_gateway_in_flight_limit_bytes",
		Help: "Weight of the requests in flight beyond which more are refused.",
	}, func() float64 { return float64(g.max) })

	known := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "otlpgw_gateway_tenants",
		Help: "Tenants that have sent since the start, without those of tenants.allow.",
	}, func() float64 { return float64(t.count()) })

	m := &metrics{
		http:   make(map[int]*[len(formatNames)]prometheus.Counter),
		grpc:   make(map[codes.Code]prometheus.Counter),
		panics: panics,
	}
	for _, code := range httpOutcomes {
		children := new([len(formatNames)]prometheus.Counter)
		for e, name := range formatNames {
			children[e] = requests.WithLabelValues("http", name, strconv.Itoa(code))
		}
		m.http[code] = children
	}
	for code, name := range grpcOutcomes {
		m.grpc[code] = requests.WithLabelValues("grpc", formatNames[protobufFormat], name)
	}
	m.httpOK, m.grpcOK = *m.http[http.StatusOK], m.grpc[codes.OK]
	for i, reason := range refusalNames {
		m.refused[i] = refusals.WithLabelValues(reason)
	}
	for i, reason := range denialNames {
		m.denied[i] = denials.WithLabelValues(reason)
	}
	m.overHTTP = transportMetrics{inFlight.WithLabelValues("http"), duration.WithLabelValues("http"), size.WithLabelValues("http")}
	m.overGRPC = transportMetrics{inFlight.WithLabelValues("grpc"), duration.WithLabelValues("grpc"), size.WithLabelValues("grpc")}

	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{requests, refusals, denials, panics, inFlight, duration, size, bytes, limit, known} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// answeredHTTP counts one answer.
func (m *metrics) answeredHTTP(e format, code int) {
	if code == http.StatusOK {
		m.httpOK[e].Inc()
		return
	}
	if children := m.http[code]; children != nil {
		children[e].Inc()
	}
}

// answeredGRPC counts one answer.
func (m *metrics) answeredGRPC(code codes.Code) {
	if c := m.grpc[code]; c != nil {
		c.Inc()
	}
}

// finished observes one request that reached conversion.
func (m *transportMetrics) finished(start time.Time, size int) {
	m.duration.Observe(time.Since(start).Seconds())
	m.size.Observe(float64(size))
}
