package local

import "github.com/prometheus/client_golang/prometheus"

// metrics of this room. The TSDB has its own, prometheus_tsdb_*; there,
// out_of_order_samples_total counts late samples that are looked at once more
// and, unless they conflict, stored.
type metrics struct {
	tooOld, conflicts prometheus.Counter
	exemplars         prometheus.Counter
	reopenings        prometheus.Counter
	families          prometheus.Gauge
	available         prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "otlpgw_local_refused_samples_total",
		Help: "Samples that the local store refused, by reason: too_old is outside the out-of-order window, conflict is another value for a time that has one.",
	}, []string{"reason"})
	m := &metrics{
		tooOld:    refused.WithLabelValues("too_old"),
		conflicts: refused.WithLabelValues("conflict"),
		exemplars: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "otlpgw_local_refused_exemplars_total",
			Help: "Exemplars that the local store refused although it took their sample, mostly late ones.",
		}),
		reopenings: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "otlpgw_local_reopenings_total",
			Help: "How often the local store was opened anew after a failed write.",
		}),
		families: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "otlpgw_local_metadata_families",
			Help: "Metric families with metadata.",
		}),
		available: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "otlpgw_local_available",
			Help: "1 while the local store takes samples, 0 after a failed write until it is open again.",
		}),
	}
	if reg != nil {
		reg.MustRegister(refused, m.exemplars, m.reopenings, m.families, m.available)
	}
	return m
}
