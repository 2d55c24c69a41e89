package main

import (
	"fmt"
	"strings"

	"github.com/otlpgw/otlpgw/bench/paired/quantity"
	"github.com/otlpgw/otlpgw/bench/paired/trial"
)

// The names of the steps of paired runs.
const (
	referenceSerial   = "reference-serial"
	referenceParallel = "reference-parallel"
	noOp              = "no-op"
)

// published is what the case that this project starts from says of a pooled
// converter against one built per request.
var published = []struct {
	step, unit, text string
	relative         bool
}{
	{referenceSerial, "ns/op", "−7.5 %", true},
	{referenceSerial, "B/op", "−26.8 %", true},
	{referenceSerial, "allocs/op", "−5", false},
	{referenceParallel, "ns/op", "−11.8 %", true},
	{referenceParallel, "B/op", "−26.7 %", true},
	{referenceParallel, "allocs/op", "−5", false},
}

// reference is the table of the reference experiment, published and ours. It is
// empty if neither run was made.
func (r *record) reference() table {
	t := table{head: []string{"run", "metric", "published", "ours", "range", "built per request", "pooled"}, text: 2}
	for _, p := range published {
		s := r.step(p.step)
		if s == nil || s.trial == nil {
			continue
		}
		name := fmt.Sprintf("%s, GOMAXPROCS=%d", strings.TrimPrefix(p.step, "reference-"), s.trial.Procs)
		for _, row := range s.trial.Rows {
			if row.Unit != p.unit {
				continue
			}
			ours, bounds := quantity.Percent(float64(row.Change.Median)), row.Change.Range()
			if !p.relative {
				ours = quantity.Difference(p.unit, float64(row.Difference.Median))
				bounds = fmt.Sprintf("[%s, %s]", quantity.Difference(p.unit, float64(row.Difference.Lo)),
					quantity.Difference(p.unit, float64(row.Difference.Hi)))
			}
			t.rows = append(t.rows, []string{name, p.unit, p.text, ours, bounds,
				quantity.Format(p.unit, float64(row.Baseline)), quantity.Format(p.unit, float64(row.Candidate))})
		}
	}
	return t
}

// trialTable lists a paired run.
func trialTable(r *trial.Result) table {
	t := table{head: []string{"benchmark", "metric", "baseline", "candidate", "change", "range", "required", "verdict"}, text: 2}
	add := func(name string, row trial.Row, verdict string) {
		t.rows = append(t.rows, []string{
			name, row.Unit, value(row.Unit, float64(row.Baseline)), value(row.Unit, float64(row.Candidate)),
			quantity.Percent(float64(row.Change.Median)), row.Change.Range(), row.Required, verdict,
		})
	}
	for _, row := range r.Rows {
		add(code(strings.TrimPrefix(row.Benchmark, "Benchmark")), row, string(row.Verdict))
	}
	for _, row := range r.Control {
		add("control "+code(strings.TrimPrefix(row.Benchmark, "Benchmark")), row, r.ControlState(row))
	}
	for _, row := range r.Group {
		add(row.Benchmark, row, r.ControlState(row))
	}
	return t
}
