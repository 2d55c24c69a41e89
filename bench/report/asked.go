package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/otlpgw/otlpgw/bench/paired/quantity"
	"github.com/otlpgw/otlpgw/bench/paired/stat"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

// asked is what is required of the measurements, as the median over the runs.
var asked = []struct {
	what        string
	family, row string
	require     string
}{
	{"warm, whole handler, times Prometheus's: sdk", "BenchmarkRatio", "sdk", "x-prometheus>=25"},
	{"warm, whole handler, times Prometheus's: batch", "BenchmarkRatio", "batch", "x-prometheus>=12"},
	{"warm, whole handler, times Prometheus's: small", "BenchmarkRatio", "small", "x-prometheus>=6"},
	{"warm, conversion alone, times Prometheus's handler: sdk", "BenchmarkRatioConvert", "sdk", "x-prometheus>=30"},
	{"warm, conversion alone, times Prometheus's handler: batch", "BenchmarkRatioConvert", "batch", "x-prometheus>=15"},
	{"warm, conversion alone, times Prometheus's handler: small", "BenchmarkRatioConvert", "small", "x-prometheus>=20"},
	{"allocations of a warm conversion, numbers", "BenchmarkConvert", "numbers", "allocs/op<=0"},
	{"allocations of a warm conversion, numbers and classic histograms", "BenchmarkConvert", "batch", "allocs/op<=0"},
	{"allocations of a warm conversion, with native histograms", "BenchmarkConvert", "sdk", "allocs/op<=2"},
	{"bytes per request, whole handler, of Prometheus's: sdk", "BenchmarkRatio", "sdk", "pct-B-of-prometheus<=2"},
	{"cold, times Prometheus's: small", "BenchmarkCold", "points/small", "x-prometheus>=1.5"},
	{"cold, times Prometheus's: sdk", "BenchmarkCold", "points/sdk", "x-prometheus>=1.5"},
	{"cold, times Prometheus's: batch", "BenchmarkCold", "points/batch", "x-prometheus>=1.5"},
	{"cold, new targets too, times Prometheus's: sdk", "BenchmarkCold", "targets/sdk", "x-prometheus>=1.5"},
	{"bytes kept per float series at a million, cache alone", "BenchmarkMemory", "cache/sdk", "bytes/series<=500"},
	{"bytes kept per float series at a million, direct with 2.0", "BenchmarkMemory", "direct-v2/sdk", "bytes/series<=500"},
	{"bytes kept per float series at a million, direct with 1.0", "BenchmarkMemory", "direct-v1/sdk", "bytes/series<=1000"},
	{"throughput at a million series, of that at 10 000", "BenchmarkGrowth", "1000000", "pct-of-10k>=40"},
	{"a million series, times Prometheus's", "BenchmarkGrowth", "1000000", "x-prometheus>=10"},
	{"two processors, distinct targets: sdk", "BenchmarkScaling", "distinct/sdk", "x-scaling>=1.7"},
	{"two processors, distinct targets: batch", "BenchmarkScaling", "distinct/batch", "x-scaling>=1.7"},
	{"two processors, one target, not slower: sdk", "BenchmarkScaling", "shared/sdk", "x-scaling>=1"},
	{"two processors, one target, not slower: batch", "BenchmarkScaling", "shared/batch", "x-scaling>=1"},
	{"times vmagent's parser, Prometheus naming: sdk without exponential", "BenchmarkPeers", "sdk-without-exponential", "x-vmagent>=12"},
	{"times the Collector's translator, remote write 1.0: sdk", "BenchmarkPeers", "sdk", "x-contrib-rw1>=60"},
	{"times the Collector's translator, remote write 2.0: sdk", "BenchmarkPeers", "sdk", "x-contrib-rw2>=60"},
	{"10 % churn per request, times Prometheus's: sdk", "BenchmarkChurn", "sdk", "x-prometheus>=5"},
	{"10 % churn per request, times Prometheus's: batch", "BenchmarkChurn", "batch", "x-prometheus>=5"},
}

// requirements is the table of what was asked and what was measured, as far as
// it was. A figure is met or missed by its median; where some run says
// otherwise the table does too.
func (r *record) requirements() (table, error) {
	t := table{head: []string{"asked", "required", "measured", "from", "to", "runs", "met"}}
	for _, a := range asked {
		q, err := verdict.Parse(a.require)
		if err != nil {
			return t, err
		}
		_, f := r.family(a.family)
		if f == nil {
			continue
		}
		i := slices.IndexFunc(f.rows, func(o *row) bool { return o.name == a.row && o.procs == 1 })
		if i < 0 {
			continue
		}
		v := f.rows[i].values[q.Unit]
		m := stat.Median(v)
		if math.IsNaN(m) {
			continue
		}
		at := func(x float64) bool { return q.Judge(stat.Range{Lo: x, Hi: x}) == verdict.Passed }
		met := "no"
		if at(m) {
			met = "yes"
		}
		if against := len(slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return at(x) == at(m) })); against > 0 {
			met += fmt.Sprintf(", but not in %d of %d runs", against, len(v))
			if !at(m) {
				met = fmt.Sprintf("no, but in %d of %d runs", against, len(v))
			}
		}
		op := map[string]string{">=": "≥", "<=": "≤"}[q.Op]
		t.rows = append(t.rows, []string{a.what, op + " " + value(q.Unit, q.Limit), value(q.Unit, m),
			value(q.Unit, slices.Min(v)), value(q.Unit, slices.Max(v)), quantity.Format("", float64(len(v))), met})
	}
	return t, nil
}
