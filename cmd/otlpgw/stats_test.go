package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// Counters go on from one generation to the next, also of labels that only one
// of them has; gauges and histograms are the newest one's.
func TestStatsOverGenerations(t *testing.T) {
	always := prometheus.NewRegistry()
	s := newStats(always)
	one := prometheus.NewGauge(prometheus.GaugeOpts{Name: "process_things", Help: "h"})
	always.MustRegister(one)
	one.Set(5)
	generation := func(sent map[string]float64, pending, took float64) *prometheus.Registry {
		reg := prometheus.NewRegistry()
		counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sent_total", Help: "h"}, []string{"to"})
		gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "pending", Help: "h"})
		histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "took_seconds", Help: "h", Buckets: []float64{1}})
		reg.MustRegister(counter, gauge, histogram)
		for to, n := range sent {
			counter.WithLabelValues(to).Add(n)
		}
		gauge.Set(pending)
		histogram.Observe(took)
		s.begin(reg)
		return reg
	}
	expect := func(a, b, c string, pending, sum string) {
		t.Helper()
		var text strings.Builder
		text.WriteString("# HELP pending h\n# TYPE pending gauge\npending " + pending + "\n# HELP process_things h\n# TYPE process_things gauge\nprocess_things 5\n")
		text.WriteString("# HELP sent_total h\n# TYPE sent_total counter\n")
		for to, n := range map[string]string{"a": a, "b": b, "c": c} {
			if n != "" {
				text.WriteString("sent_total{to=\"" + to + "\"} " + n + "\n")
			}
		}
		text.WriteString("# HELP took_seconds h\n# TYPE took_seconds histogram\ntook_seconds_bucket{le=\"1\"} 1\ntook_seconds_bucket{le=\"+Inf\"} 1\ntook_seconds_sum " + sum + "\ntook_seconds_count 1\n")
		require.NoError(t, testutil.GatherAndCompare(s, strings.NewReader(text.String())))
	}
	first := generation(map[string]float64{"a": 1, "b": 2}, 7, 0.25)
	expect("1", "2", "", "7", "0.25")
	second := generation(map[string]float64{"b": 10, "c": 20}, 8, 0.5)
	expect("1", "12", "20", "8", "0.5")
	s.end(first)
	expect("1", "12", "20", "8", "0.5")
	expect("1", "12", "20", "8", "0.5") // and again: gathering changes nothing
	third := generation(map[string]float64{"b": 100}, 9, 0.75)
	s.end(second)
	expect("1", "112", "20", "9", "0.75")
	s.end(third)
	require.Empty(t, s.live)
}
