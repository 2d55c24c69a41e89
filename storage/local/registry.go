package local

import (
	"fmt"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// registry passes on what one opening of the TSDB registers. It can take all
// of it back, since the next opening registers the same names, and it reads the
// counters that tell what the TSDB's Commit does not.
type registry struct {
	outer    prometheus.Registerer // Nil passes nothing on.
	mu       sync.Mutex
	all      []prometheus.Collector
	failures []prometheus.Metric
}

// failureNames are the counters of writes that a log did not take. They count
// under the log's lock, so that a commit whose write came after a failed one
// finds the count above zero.
var failureNames = []string{
	"prometheus_tsdb_wal_writes_failed_total",
	"prometheus_tsdb_out_of_order_wbl_writes_failed_total",
}

func (r *registry) Register(c prometheus.Collector) error {
	if r.outer != nil {
		if err := r.outer.Register(c); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, c)
	if isFailureCounter(c) {
		metrics := make(chan prometheus.Metric, 1)
		c.Collect(metrics)
		r.failures = append(r.failures, <-metrics)
	}
	return nil
}

func isFailureCounter(c prometheus.Collector) bool {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	is := false
	for d := range descs {
		for _, name := range failureNames {
			is = is || strings.Contains(d.String(), `"`+name+`"`)
		}
	}
	return is
}

func (r *registry) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

func (r *registry) Unregister(c prometheus.Collector) bool {
	return r.outer != nil && r.outer.Unregister(c)
}

// clear takes back what was registered.
func (r *registry) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.all {
		r.Unregister(c)
	}
	r.all = nil
}

// check returns an error unless every counter of failed writes was found.
func (r *registry) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) != len(failureNames) {
		return fmt.Errorf("the TSDB has %d of the counters %s", len(r.failures), strings.Join(failureNames, ", "))
	}
	return nil
}

// writesFailed reports whether any write to a log failed.
func (r *registry) writesFailed() bool {
	for _, m := range r.failures {
		var d dto.Metric
		if err := m.Write(&d); err != nil || d.GetCounter().GetValue() > 0 {
			return true
		}
	}
	return false
}
