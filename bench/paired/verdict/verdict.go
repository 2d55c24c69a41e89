// Package verdict decides what paired runs have shown: whether a change meets a
// requirement, misses it, or whether the runs cannot tell.
package verdict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otlpgw/otlpgw/bench/paired/stat"
)

// Verdict is the outcome of one requirement, or of a whole trial.
type Verdict string

// The verdicts. NotResolved is the answer to everything that was not shown.
const (
	Passed      Verdict = "PASSED"
	Failed      Verdict = "FAILED"
	NotResolved Verdict = "NOT RESOLVED"
)

// Of returns the verdict of a trial whose parts got these: failed if one has
// failed, passed if all have passed. Nothing compared is nothing shown.
func Of(parts ...Verdict) Verdict {
	switch {
	case slices.Contains(parts, Failed):
		return Failed
	case len(parts) == 0 || slices.ContainsFunc(parts, func(v Verdict) bool { return v != Passed }):
		return NotResolved
	}
	return Passed
}

// Requirement bounds the median change of one metric from the baseline to the
// candidate.
type Requirement struct {
	// Unit names the metric: "ns/op".
	Unit string
	// Op is one of <=, <, >= and >.
	Op string
	// Limit is a fraction of the baseline if Relative (-0.05 is 5 % less), else
	// in Unit.
	Limit    float64
	Relative bool
}

// ops, longer ones first: each is looked for in this order.
var ops = []string{"<=", ">=", "<", ">"}

// Parse reads a requirement such as ns/op<=-5% (at least 5 % less time),
// allocs/op<=-5 (at least five allocations less) or samples/s>=10%.
func Parse(s string) (Requirement, error) {
	for _, op := range ops {
		unit, limit, ok := strings.Cut(s, op)
		if !ok {
			continue
		}
		r := Requirement{Unit: strings.TrimSpace(unit), Op: op}
		limit, r.Relative = strings.CutSuffix(strings.TrimSpace(limit), "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(limit), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || r.Unit == "" {
			break
		}
		r.Limit = v
		if r.Relative {
			r.Limit = v / 100
		}
		return r, nil
	}
	return Requirement{}, fmt.Errorf("the requirement %q is not of the form ns/op<=-5%% or allocs/op<=-5", s)
}

// String is the condition without the unit, for a table: "<= -5 %".
func (r Requirement) String() string {
	limit, suffix := r.Limit, ""
	if r.Relative {
		limit, suffix = math.Round(limit*1e8)/1e6, " %"
	}
	sign := "+"
	if limit <= 0 {
		sign = ""
	}
	return r.Op + " " + sign + strconv.FormatFloat(limit, 'g', -1, 64) + suffix
}

// HigherIsBetter reports whether a metric counts something that one wants more
// of: a rate ("samples/s") or how many times better than another ("x-peer").
// Of everything else (ns/op, B/op) one wants less.
func HigherIsBetter(unit string) bool {
	return strings.HasSuffix(unit, "/s") || strings.HasPrefix(unit, "x-")
}

// NoRegression is what is asked where nothing else is: that the metric does not
// get worse by more than limit, a fraction of the baseline.
func NoRegression(unit string, limit float64) Requirement {
	if HigherIsBetter(unit) {
		return Requirement{Unit: unit, Op: ">=", Limit: -limit, Relative: true}
	}
	return Requirement{Unit: unit, Op: "<=", Limit: limit, Relative: true}
}

// Judge holds the confidence range of a change against the requirement. It is
// passed if all of the range meets it, failed if nothing of it does. A range
// that reaches over the limit resolves nothing, however well its middle looks.
func (r Requirement) Judge(change stat.Range) Verdict {
	lo, hi := r.meets(change.Lo), r.meets(change.Hi)
	switch {
	case math.IsNaN(change.Lo) || math.IsNaN(change.Hi) || lo != hi,
		math.IsInf(change.Lo, -1) && math.IsInf(change.Hi, 1):
		return NotResolved
	case lo:
		return Passed
	}
	return Failed
}

func (r Requirement) meets(x float64) bool {
	switch r.Op {
	case "<=":
		return x <= r.Limit
	case "<":
		return x < r.Limit
	case ">=":
		return x >= r.Limit
	default:
		return x > r.Limit
	}
}
