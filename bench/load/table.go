package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/otlpgw/otlpgw/bench/paired/stat"
)

// quantile returns the smallest of sorted times that at least the share q of
// them does not exceed, and 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// row is one party and its results by run; nil where it has none.
type row struct {
	party
	results []*result
	singles [][]single
	// missing says why there is nothing.
	missing error
}

// over is the median of a figure over the runs.
func (r row) over(figure func(result) float64) float64 {
	var x []float64
	for _, res := range r.results {
		if res != nil {
			x = append(x, figure(*res))
		}
	}
	return stat.Median(x)
}

// ratio is the median of a figure's ratio to the floor's in the same run.
func (r row) ratio(floor row, figure func(result) float64) float64 {
	var x []float64
	for i, res := range r.results {
		if res != nil && i < len(floor.results) && floor.results[i] != nil {
			x = append(x, figure(*res)/figure(*floor.results[i]))
		}
	}
	return stat.Median(x)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// columns of the table of load, some with their ratio to the floor.
var columns = []struct {
	name   string
	verb   string
	ratio  bool
	figure func(result) float64
}{
	{"CPU µs/sample", "%.2f", true, result.perSample},
	{"peak RSS MB", "%.0f", true, func(r result) float64 { return float64(r.peakRSS) / 1e6 }},
	{"sent MB", "%.1f", true, func(r result) float64 { return float64(r.wire) / 1e6 }},
	{"raw MB", "%.1f", false, func(r result) float64 { return float64(r.raw) / 1e6 }},
	{"requests", "%.0f", false, func(r result) float64 { return float64(r.writes) }},
	{"p50 ms", "%.2f", true, func(r result) float64 { return ms(r.p50) }},
	{"p99 ms", "%.2f", true, func(r result) float64 { return ms(r.p99) }},
	{"samples/s", "%.0f", false, func(r result) float64 { return float64(r.delivered) / r.took.Seconds() }},
	{"delivered %", "%.2f", false, func(r result) float64 { return 100 * float64(r.delivered) / float64(r.sent) }},
	{"retried", "%.0f", false, func(r result) float64 { return float64(r.retried) }},
}

// loadTable is what the processes did under load, in Markdown. The first row is
// the floor.
func loadTable(rows []row) string {
	var t strings.Builder
	t.WriteString("| process |")
	for _, c := range columns {
		t.WriteString(" " + c.name + " |")
		if c.ratio {
			t.WriteString(" × floor |")
		}
	}
	t.WriteString("\n|---|" + strings.Repeat("---:|", strings.Count(t.String(), "|")-2) + "\n")
	for _, r := range rows {
		if r.missing != nil {
			continue
		}
		t.WriteString("| " + r.label() + " |")
		for _, c := range columns {
			fmt.Fprintf(&t, " "+c.verb+" |", r.over(c.figure))
			if c.ratio {
				fmt.Fprintf(&t, " %.2f |", r.ratio(rows[0], c.figure))
			}
		}
		t.WriteString("\n")
	}
	return t.String()
}

func (r row) label() string {
	if r.async {
		return r.name + " *"
	}
	return r.name
}

// singleTable is what a sender of one small request at a time sees.
func singleTable(rows []row) string {
	var t strings.Builder
	t.WriteString("| process | far end waits ms | p50 ms | p99 ms | far end p50 ms | p50 − far end ms |\n|---|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		for i, delay := range farDelays {
			over := func(figure func(single) time.Duration) float64 {
				var x []float64
				for _, run := range r.singles {
					x = append(x, ms(figure(run[i])))
				}
				return stat.Median(x)
			}
			if len(r.singles) == 0 {
				continue
			}
			fmt.Fprintf(&t, "| %s | %.0f | %.2f | %.2f | %.2f | %.2f |\n", r.label(), ms(delay),
				over(func(s single) time.Duration { return s.p50 }), over(func(s single) time.Duration { return s.p99 }),
				over(func(s single) time.Duration { return s.far }), over(func(s single) time.Duration { return s.p50 - s.far }))
		}
	}
	return t.String()
}

// missing names the parties without results, and why.
func missing(rows []row) string {
	var t strings.Builder
	for _, r := range rows {
		if r.missing != nil {
			fmt.Fprintf(&t, "- %s is left out: %v\n", r.name, r.missing)
		}
	}
	return t.String()
}
