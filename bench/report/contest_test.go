package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/gobench"
)

func TestAttribute(t *testing.T) {
	parties := []string{"otlpgw", "otlpgw-10k", "vmagent", "vmagent-unpromoted", "rw1"}
	for unit, want := range map[string][2]string{
		"otlpgw-B/op":              {"otlpgw", "B/op"},
		"otlpgw-10k-B/op":          {"otlpgw-10k", "B/op"},
		"x-vmagent":                {"vmagent", "x"},
		"x-vmagent-cpu":            {"vmagent", "x-cpu"},
		"x-vmagent-unpromoted":     {"vmagent-unpromoted", "x"},
		"x-vmagent-unpromoted-cpu": {"vmagent-unpromoted", "x-cpu"},
		"pct-B-of-vmagent":         {"vmagent", "pct-B-of"},
		"x-contrib-rw1":            {"rw1", "x-contrib"}, // It was no party.
		"rounds":                   {"", ""},
		"pct-of-10k":               {"", ""},
		"x-scaling":                {"", ""},
	} {
		party, column := attribute(unit, parties)
		require.Equal(t, want, [2]string{party, column}, unit)
	}
}

func TestParties(t *testing.T) {
	of := func(units ...string) *row {
		r := &row{values: map[string][]float64{}}
		for _, u := range units {
			r.add([]gobench.Value{{Unit: u, Value: 1}})
		}
		return r
	}
	require.Nil(t, of("ns/op", "samples/s").parties())
	require.Nil(t, of("otlpgw-samples/s").parties(), "one is no contest")
	r := of("a-samples/s", "otlpgw-10k-samples/s", "otlpgw-samples/s", "prometheus-samples/s", "x-a", "x-prometheus")
	require.Equal(t, []string{"otlpgw", "prometheus", "a", "otlpgw-10k"}, r.parties())
	require.Equal(t, []string{"otlpgw", "prometheus", "a"}, r.contestants())
	require.Equal(t, []string{"two", "one"}, of("one-samples/s", "two-samples/s", "x-one").parties(), "who is not compared is what others are compared with")
	require.Equal(t, []string{"one", "two"}, of("one-samples/s", "two-samples/s", "x-scaling").parties())
	require.True(t, of("x-prometheus-cpu").opposes("prometheus"))
	require.False(t, of("x-prometheus-cpu").opposes("prom"))
}

func TestRow(t *testing.T) {
	r := &row{units: []string{"MB/s", "ns/op"}, values: map[string][]float64{"ns/op": {100, 110, 90}, "MB/s": {1}, "allocs/op": {0, 0}}}
	require.Equal(t, 100.0, r.median("ns/op"))
	require.True(t, math.IsNaN(r.median("B/op")))
	require.InDelta(t, 0.1, r.spread("ns/op"), 1e-12)
	require.True(t, math.IsNaN(r.spread("MB/s")), "one run has no spread")
	require.True(t, math.IsNaN(r.spread("allocs/op")), "nothing is no measure of spread")
	require.Equal(t, 3, r.runs())
	require.Equal(t, "ns/op", r.principal())
	require.Equal(t, "x-y", (&row{units: []string{"B/op", "x-y"}}).principal())
	require.Equal(t, "series", (&row{units: []string{"series"}}).principal())
	require.Empty(t, (&row{}).principal())
}
