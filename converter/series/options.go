package series

import "time"

// Options bounds a [Cache]. Past a bound the converter still works, uncached.
type Options struct {
	// MaxBytes bounds the memory of the cache, overriding the default of a
	// quarter of the process's memory limit, or 1 GiB without one.
	MaxBytes int64
	// MaxSeries bounds the series, by default unbounded (MaxBytes holds).
	MaxSeries int
	// CountPerMetric counts the series of each metric name, for [Records.Metric].
	CountPerMetric bool
	// IdleTimeout is how long an unused target is remembered, by default 1 h.
	IdleTimeout time.Duration
}
