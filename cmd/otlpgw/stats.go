package main

import (
	"cmp"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// stats gathers the metrics of the process and those of the generations that
// came to be in it. Counters go on over a reload: they are the sum of all
// generations. Gauges and histograms are the newest generation's. It is safe for
// concurrent use.
type stats struct {
	always *prometheus.Registry

	mu   sync.Mutex
	live []*prometheus.Registry // of generations, oldest first
	past families               // counters of those that have ended
}

func newStats(always *prometheus.Registry) *stats {
	return &stats{always: always, past: families{}}
}

// begin takes the registry of a new generation.
func (s *stats) begin(reg *prometheus.Registry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = append(s.live, reg)
}

// end keeps the counters of a generation and forgets the rest of it.
func (s *stats) end(reg *prometheus.Registry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = slices.DeleteFunc(s.live, func(r *prometheus.Registry) bool { return r == reg })
	// What cannot be gathered is lost, and was told at every gathering.
	gathered, _ := reg.Gather()
	gathered = slices.DeleteFunc(gathered, func(f *dto.MetricFamily) bool { return f.GetType() != dto.MetricType_COUNTER })
	s.past.add(gathered)
}

// Gather implements [prometheus.Gatherer].
func (s *stats) Gather() ([]*dto.MetricFamily, error) {
	s.mu.Lock()
	live, sum := slices.Clone(s.live), s.past.clone()
	s.mu.Unlock()
	var errs []error
	for _, reg := range append(live, s.always) {
		gathered, err := reg.Gather()
		if err != nil {
			errs = append(errs, err)
		}
		sum.add(gathered)
	}
	return sum.sorted(), errors.Join(errs...)
}

// families are metrics by the name of their family and then by their labels.
type families map[string]*family

type family struct {
	head    *dto.MetricFamily // without metrics
	metrics map[string]*dto.Metric
}

// add takes what was gathered, which becomes the families'. A counter that is
// there already is added to, everything else is replaced.
func (fs families) add(gathered []*dto.MetricFamily) {
	for _, f := range gathered {
		mine := fs[f.GetName()]
		if mine == nil {
			mine = &family{head: f, metrics: map[string]*dto.Metric{}}
			fs[f.GetName()] = mine
		}
		for _, m := range f.Metric {
			key := labelKey(m)
			if was := mine.metrics[key]; was.GetCounter() != nil && m.GetCounter() != nil {
				c := m.Counter
				c.Value = proto.Float64(c.GetValue() + was.Counter.GetValue())
				c.CreatedTimestamp = was.Counter.CreatedTimestamp
			}
			mine.metrics[key] = m
		}
		f.Metric = nil
	}
}

func (fs families) clone() families {
	out := make(families, len(fs))
	for name, f := range fs {
		c := &family{head: proto.CloneOf(f.head), metrics: make(map[string]*dto.Metric, len(f.metrics))}
		for key, m := range f.metrics {
			c.metrics[key] = proto.CloneOf(m)
		}
		out[name] = c
	}
	return out
}

func (fs families) sorted() []*dto.MetricFamily {
	out := make([]*dto.MetricFamily, 0, len(fs))
	for _, f := range fs {
		for _, key := range slices.Sorted(maps.Keys(f.metrics)) {
			f.head.Metric = append(f.head.Metric, f.metrics[key])
		}
		out = append(out, f.head)
	}
	slices.SortFunc(out, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// labelKey tells the metrics of a family apart. Their labels are sorted.
func labelKey(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.Label {
		b.WriteString(l.GetName())
		b.WriteByte(0xff)
		b.WriteString(l.GetValue())
		b.WriteByte(0xff)
	}
	return b.String()
}

// newBuildInfo is a metric that says what runs.
func newBuildInfo() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "otlpgw_build_info",
		Help: "1, with the version of the program as labels.",
		ConstLabels: prometheus.Labels{
			"version": version, "revision": revision(), "goversion": runtime.Version(), "goos": runtime.GOOS, "goarch": runtime.GOARCH,
		},
	})
	g.Set(1)
	return g
}
