package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/otlpgw/otlpgw/bench/paired/machine"
	"github.com/otlpgw/otlpgw/bench/paired/quantity"
	"github.com/otlpgw/otlpgw/bench/paired/stat"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

// Result is what a trial has found, with all samples, so that it can be judged
// again.
type Result struct {
	Started   time.Time    `json:"started"`
	Machine   machine.Info `json:"machine"`
	Baseline  Side         `json:"baseline"`
	Candidate Side         `json:"candidate"`

	Bench            string  `json:"bench"`
	ControlBench     string  `json:"control_bench,omitempty"`
	ControlTolerance float64 `json:"control_tolerance"`
	MaxRegression    float64 `json:"max_regression"`
	Pairs            int     `json:"pairs"`
	Procs            int     `json:"procs"`
	Benchtime        string  `json:"benchtime"`
	// Confidence is what was asked of the ranges; the rows hold the exact one.
	Confidence float64 `json:"confidence"`
	// Seed decided the order of the pairs and within them.
	Seed uint64 `json:"seed"`

	// Rows are the metrics of the benchmarks that were compared, Control those
	// of the control group, and Group the control group as one: the median
	// over its benchmarks of each pair's changes.
	Rows    []Row `json:"rows"`
	Control []Row `json:"control,omitempty"`
	Group   []Row `json:"control_group,omitempty"`

	OnlyBaseline  []string `json:"only_baseline,omitempty"`
	OnlyCandidate []string `json:"only_candidate,omitempty"`

	Verdict verdict.Verdict `json:"verdict"`
	// Reason says why the verdict is not that of the rows alone.
	Reason string `json:"reason,omitempty"`
}

// Row is one metric of one benchmark.
type Row struct {
	Benchmark string `json:"benchmark"`
	// Iterations are those of every sample.
	Iterations int    `json:"iterations,omitempty"`
	Unit       string `json:"unit"`
	// Baseline and Candidate are the medians of the samples.
	Baseline  Number `json:"baseline_median"`
	Candidate Number `json:"candidate_median"`
	// Change is from the baseline, as a fraction of it; Difference is in Unit.
	Change     Change `json:"change"`
	Difference Change `json:"difference"`
	// Required is what was asked, and Verdict whether it was met. A row of the
	// control group is asked nothing; Reason says if it has moved.
	Required string          `json:"required,omitempty"`
	Verdict  verdict.Verdict `json:"verdict,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Samples  []Pair          `json:"pairs,omitempty"`
}

// Change is the median of the paired changes and its confidence range.
type Change struct {
	Median     Number  `json:"median"`
	Lo         Number  `json:"lo"`
	Hi         Number  `json:"hi"`
	Confidence float64 `json:"confidence"`
}

func (c Change) bounds() stat.Range {
	return stat.Range{Lo: float64(c.Lo), Hi: float64(c.Hi), Confidence: c.Confidence}
}

// Pair is a sample of each side, taken one after the other.
type Pair struct {
	Baseline       float64 `json:"baseline"`
	Candidate      float64 `json:"candidate"`
	CandidateFirst bool    `json:"candidate_first,omitempty"`
}

// change is relative to the baseline. Something where there was nothing is
// infinitely more.
func (p Pair) change() float64 {
	if p.Baseline == p.Candidate {
		return 0
	}
	if p.Baseline == 0 {
		return math.Inf(int(math.Copysign(1, p.Candidate)))
	}
	return (p.Candidate - p.Baseline) / math.Abs(p.Baseline)
}

// Number is a float that JSON can hold: infinities are strings, NaN is null.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsNaN(f):
		return []byte("null"), nil
	case math.IsInf(f, 0):
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	default:
		return json.Marshal(f)
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null":
		*n = Number(math.NaN())
	case `"+Inf"`:
		*n = Number(math.Inf(1))
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

// metric is what was sampled of one unit of one benchmark.
type metric struct {
	unit  string
	pairs []Pair
}

func (r *Result) missing(only [2][]string) {
	r.OnlyBaseline = append(r.OnlyBaseline, only[0]...)
	r.OnlyCandidate = append(r.OnlyCandidate, only[1]...)
}

// compare fills the rows and the verdict.
func (r *Result) compare(subjects []*subject, requirements []verdict.Requirement) {
	var verdicts []verdict.Verdict
	asked := make([]bool, len(requirements))
	control := r.controlConfidence(subjects)
	for _, s := range subjects {
		for _, m := range s.metrics {
			asks := func(q verdict.Requirement) bool { return q.Unit == m.unit }
			if s.repeats(m.unit) && (s.control || !slices.ContainsFunc(requirements, asks)) {
				continue
			}
			if s.control {
				row := r.row(s, m, control)
				row.Reason = r.moved(row)
				r.Control = append(r.Control, row)
				continue
			}
			row, met := r.row(s, m, r.Confidence), false
			for i, q := range requirements {
				if asks(q) {
					asked[i], met = true, true
					verdicts = append(verdicts, row.judge(q))
				}
			}
			if !met {
				verdicts = append(verdicts, row.judge(verdict.NoRegression(m.unit, r.MaxRegression)))
			}
			r.Rows = append(r.Rows, row)
		}
	}
	r.group(control)
	r.Verdict = verdict.Of(verdicts...)
	for i, q := range requirements {
		if !asked[i] {
			r.void(fmt.Sprintf("no benchmark reports %s, of which %s is required", q.Unit, q))
		}
	}
	if r.ControlBench != "" && len(r.Control) == 0 {
		r.void("the control group is empty: nothing says that the machine stood still")
	}
	for _, c := range slices.Concat(r.Group, r.Control) {
		if c.Reason != "" {
			r.void(c.Reason)
			break
		}
	}
	if low, _ := stat.Rank(r.Pairs, r.Confidence); low == 0 {
		r.void(fmt.Sprintf("%d pairs are too few for a confidence of %g %%", r.Pairs, r.Confidence*100))
	}
}

// repeats reports whether a metric of the subject says again what its ns/op
// says: a rate that was computed from it.
func (s *subject) repeats(unit string) bool {
	return (unit == "MB/s" || unit == "samples/s") &&
		slices.ContainsFunc(s.metrics, func(m metric) bool { return m.unit == "ns/op" })
}

// void makes of every verdict that nothing is resolved.
func (r *Result) void(reason string) {
	r.Verdict = verdict.NotResolved
	if r.Reason == "" {
		r.Reason = reason
	}
	for i := range r.Rows {
		if r.Rows[i].Verdict != verdict.NotResolved {
			r.Rows[i].Verdict, r.Rows[i].Reason = verdict.NotResolved, reason
		}
	}
}

// controlConfidence is that of the ranges of the control group, so that all of
// them together hold with the confidence that is asked of one: the more there
// is to see, the more seems to move. With few pairs it is as high as they allow.
func (r *Result) controlConfidence(subjects []*subject) float64 {
	var units []string
	n := 0
	for _, s := range subjects {
		for _, m := range s.metrics {
			if !s.control || s.repeats(m.unit) {
				continue
			}
			n++
			if !slices.Contains(units, m.unit) {
				units = append(units, m.unit)
			}
		}
	}
	n += len(units) // the group, as one
	highest := 1 - math.Pow(2, float64(1-r.Pairs))
	return max(r.Confidence, min(1-(1-r.Confidence)/float64(max(1, n)), highest-1e-9))
}

func (r *Result) row(s *subject, m metric, confidence float64) Row {
	n := len(m.pairs)
	base, candidate, changes, differences := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, p := range m.pairs {
		base[i], candidate[i] = p.Baseline, p.Candidate
		changes[i], differences[i] = p.change(), p.Candidate-p.Baseline
	}
	return Row{
		Benchmark: s.name, Iterations: s.iterations, Unit: m.unit,
		Baseline: Number(stat.Median(base)), Candidate: Number(stat.Median(candidate)),
		Change: change(changes, confidence), Difference: change(differences, confidence), Samples: m.pairs,
	}
}

func change(x []float64, confidence float64) Change {
	bounds := stat.MedianRange(x, confidence)
	return Change{Number(stat.Median(x)), Number(bounds.Lo), Number(bounds.Hi), bounds.Confidence}
}

// judge adds a requirement to the row and returns its verdict.
func (r *Row) judge(q verdict.Requirement) verdict.Verdict {
	change := r.Difference
	if q.Relative {
		change = r.Change
	}
	v := q.Judge(change.bounds())
	if r.Required == "" {
		r.Required, r.Verdict = q.String(), v
	} else {
		r.Required += " and " + q.String()
		r.Verdict = verdict.Of(r.Verdict, v)
	}
	return v
}

// group compares the control group as one.
func (r *Result) group(confidence float64) {
	var units []string
	for _, c := range r.Control {
		if !slices.Contains(units, c.Unit) {
			units = append(units, c.Unit)
		}
	}
	for _, unit := range units {
		medians := make([]float64, r.Pairs)
		for pair := range medians {
			var changes []float64
			for _, c := range r.Control {
				if c.Unit == unit {
					changes = append(changes, c.Samples[pair].change())
				}
			}
			medians[pair] = stat.Median(changes)
		}
		nan := Change{Median: Number(math.NaN()), Lo: Number(math.NaN()), Hi: Number(math.NaN())}
		row := Row{
			Benchmark: "control group", Unit: unit, Change: change(medians, confidence), Difference: nan,
			Baseline: Number(math.NaN()), Candidate: Number(math.NaN()),
		}
		row.Reason = r.moved(row)
		r.Group = append(r.Group, row)
	}
}

// moved says how a control has moved: its range misses zero by more than the
// tolerance. Empty: it has not.
func (r *Result) moved(row Row) string {
	b := row.Change.bounds()
	if b.Lo <= r.ControlTolerance && b.Hi >= -r.ControlTolerance {
		return ""
	}
	return fmt.Sprintf("control moved: %s %s by %s, range %s to %s", row.Benchmark, row.Unit,
		quantity.Percent(float64(row.Change.Median)), quantity.Percent(b.Lo), quantity.Percent(b.Hi))
}
