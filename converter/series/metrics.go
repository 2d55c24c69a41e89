package series

import "github.com/prometheus/client_golang/prometheus"

// Register registers the cache's metrics; nil registers nothing.
func (c *Cache[S]) Register(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	const subsystem = "series_cache"
	reg.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "otlpgw", Subsystem: subsystem, Name: "hits_total",
			Help: "Data points whose series were found by their raw bytes.",
		}, func() float64 { return float64(c.hits.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "otlpgw", Subsystem: subsystem, Name: "misses_total",
			Help: "Data points whose attributes had to be decoded.",
		}, func() float64 { return float64(c.misses.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "otlpgw", Subsystem: subsystem, Name: "bytes",
			Help: "Memory the target cache holds, as accounted against cache.max_bytes.",
		}, func() float64 { return float64(c.Budget.bytes.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "otlpgw", Subsystem: subsystem, Name: "entries",
			Help: "Series the target cache holds.",
		}, func() float64 { return float64(c.Budget.series.Load()) }),
	)
}
