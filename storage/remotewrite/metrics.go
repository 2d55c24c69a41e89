package remotewrite

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why an attempt failed, in otlpgw_remotewrite_failed_requests_total.
const (
	failNetwork       = "network"
	failUnavailable   = "unavailable"
	failThrottled     = "throttled"
	failRefused       = "refused"
	failTooLarge      = "too_large"
	failUnsupported   = "unsupported"
	failMisconfigured = "misconfigured"
)

// Why a sample was not sent, in otlpgw_remotewrite_dropped_samples_total.
const (
	dropNative     = "native_histogram"
	dropNHCB       = "nhcb"
	dropConversion = "nhcb_conversion"
	dropLost       = "undelivered"
)

// metrics are the room's, for all destinations.
type metrics struct {
	requests, retries, probes, bytes, samples, refused *prometheus.CounterVec
	refusedExemplars, collisions                       *prometheus.CounterVec
	failed, dropped                                    *prometheus.CounterVec
	duration                                           *prometheus.HistogramVec
	pending, circuit, fallback                         *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	const ns, sub = "otlpgw", "remotewrite"
	by := func(more ...string) []string { return append([]string{"destination"}, more...) }
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help}, by(more...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help}, by())
	}
	m := &metrics{
		requests:         counter("requests_total", "Remote-write requests sent, repeated attempts included."),
		retries:          counter("retries_total", "Remote-write requests sent again because the destination was away."),
		probes:           counter("probes_total", "Smaller requests sent to find what the destination refuses of a request."),
		bytes:            counter("sent_bytes_total", "Bytes of remote-write requests sent, compressed."),
		failed:           counter("failed_requests_total", "Remote-write requests that were not accepted as sent.", "reason"),
		samples:          counter("samples_total", "Samples and native histograms that the destination accepted."),
		refused:          counter("refused_samples_total", "Samples and native histograms that the destination refused for good."),
		refusedExemplars: counter("refused_exemplars_total", "Exemplars that the destination did not write."),
		dropped:          counter("dropped_samples_total", "Samples that did not go to the destination: its settings or message version cannot carry them, or it is not required and was away.", "reason"),
		collisions:       counter("name_collisions_total", "Series whose labels, escaped for 1.0, are those of another series."),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: ns, Subsystem: sub, Name: "request_duration_seconds",
			Help:                            "Time from sending a remote-write request to its answer.",
			Buckets:                         []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, by()),
		pending:  gauge("pending_bytes", "Memory held by samples that wait for the destination."),
		circuit:  gauge("circuit_open", "1 while the destination gets nothing but probes: it is away, or its answers speak of its own configuration."),
		fallback: gauge("fallback", "1 while the destination gets 1.0 because it did not know 2.0."),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.requests, m.retries, m.probes, m.bytes, m.failed, m.samples, m.refused, m.refusedExemplars, m.dropped, m.collisions,
		m.duration, m.pending, m.circuit, m.fallback,
	} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// destinationMetrics are one destination's, resolved once.
type destinationMetrics struct {
	requests, retries, probes, bytes, samples, refused prometheus.Counter
	refusedExemplars, collisions                       prometheus.Counter
	failed, dropped                                    map[string]prometheus.Counter
	duration                                           prometheus.Observer
	pending, circuit, fallback                         prometheus.Gauge
}

func (m *metrics) of(name string) destinationMetrics {
	d := destinationMetrics{
		requests:         m.requests.WithLabelValues(name),
		retries:          m.retries.WithLabelValues(name),
		probes:           m.probes.WithLabelValues(name),
		bytes:            m.bytes.WithLabelValues(name),
		samples:          m.samples.WithLabelValues(name),
		refused:          m.refused.WithLabelValues(name),
		refusedExemplars: m.refusedExemplars.WithLabelValues(name),
		collisions:       m.collisions.WithLabelValues(name),
		failed:           map[string]prometheus.Counter{},
		dropped:          map[string]prometheus.Counter{},
		duration:         m.duration.WithLabelValues(name),
		pending:          m.pending.WithLabelValues(name),
		circuit:          m.circuit.WithLabelValues(name),
		fallback:         m.fallback.WithLabelValues(name),
	}
	for _, reason := range []string{failNetwork, failUnavailable, failThrottled, failRefused, failTooLarge, failUnsupported, failMisconfigured} {
		d.failed[reason] = m.failed.WithLabelValues(name, reason)
	}
	for _, reason := range []string{dropNative, dropNHCB, dropConversion, dropLost} {
		d.dropped[reason] = m.dropped.WithLabelValues(name, reason)
	}
	return d
}

// oldestPending is a collector that asks at scrape time how long each
// destination's oldest samples have waited.
type oldestPending struct {
	desc *prometheus.Desc
	of   []*Destination
}

func (o *oldestPending) Describe(ch chan<- *prometheus.Desc) { ch <- o.desc }

func (o *oldestPending) Collect(ch chan<- prometheus.Metric) {
	for _, d := range o.of {
		age := 0.0
		if oldest := d.oldest.Load(); oldest != nil {
			if since := (*oldest)(); !since.IsZero() {
				age = max(0, d.clock.Now().Sub(since).Seconds())
			}
		}
		ch <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, age, d.name)
	}
}
