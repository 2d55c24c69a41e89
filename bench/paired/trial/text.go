package trial

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/otlpgw/otlpgw/bench/paired/quantity"
	"github.com/otlpgw/otlpgw/bench/paired/stat"
)

// Method is a sentence on how the trial was held and what its ranges are.
func (r *Result) Method() string {
	low, exact := stat.Rank(r.Pairs, r.Confidence)
	ranges := fmt.Sprintf("too few for a range of %g %% confidence", r.Confidence*100)
	if low > 0 {
		ranges = fmt.Sprintf("range by order statistics (sign test): changes %d and %d of %d in order, %.1f %% exact (%g %% asked)",
			low, r.Pairs+1-low, r.Pairs, exact*100, r.Confidence*100)
	}
	return fmt.Sprintf("%d pairs, one process per sample, order within each pair by chance (seed %d), GOMAXPROCS=%d, %s per sample; "+
		"change: median of the paired relative changes; %s", r.Pairs, r.Seed, r.Procs, r.Benchtime, ranges)
}

// ControlNote is a sentence on the control group.
func (r *Result) ControlNote() string {
	if r.ControlBench == "" {
		return "none: nothing says that the machine stood still"
	}
	return fmt.Sprintf("%s; it voids the verdict if a range misses zero by more than %g %%; its ranges hold together", r.ControlBench, r.ControlTolerance*100)
}

// ControlState says what a row of the control group shows: that it has moved,
// that it stood still within the tolerance, or neither.
func (r *Result) ControlState(row Row) string {
	b := row.Change.bounds()
	switch {
	case row.Reason != "":
		return "MOVED"
	case b.Lo >= -r.ControlTolerance && b.Hi <= r.ControlTolerance:
		return "stood still"
	}
	return "not clear"
}

func (s Side) String() string {
	return strings.Join(append([]string{s.Label}, s.Env...), " ")
}

// WriteText writes the result for people.
func (r *Result) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"baseline", r.Baseline.String()},
		{"candidate", r.Candidate.String()},
		{"benchmarks", r.Bench},
		{"control", r.ControlNote()},
		{"machine", r.Machine.String()},
		{"started", r.Started.Format("2006-01-02 15:04:05 MST")},
		{"method", r.Method()},
	} {
		fmt.Fprintf(out, "%s\t%s\n", line[0], line[1])
	}
	fmt.Fprintln(out)
	// A second table: its columns are not those of the first.
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "benchmark\tmetric\tbaseline\tcandidate\tdifference\tchange\trange\trequired\tverdict")
	for _, row := range r.Rows {
		writeRow(out, row, string(row.Verdict))
	}
	for _, row := range slices.Concat(r.Control, r.Group) {
		state := r.ControlState(row)
		if row.Iterations > 0 {
			row.Benchmark = "control: " + row.Benchmark
		}
		writeRow(out, row, state)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, name := range r.OnlyBaseline {
		fmt.Fprintf(w, "only the baseline has %s\n", name)
	}
	for _, name := range r.OnlyCandidate {
		fmt.Fprintf(w, "only the candidate has %s\n", name)
	}
	reason := r.Reason
	if reason != "" {
		reason = " (" + reason + ")"
	}
	_, err := fmt.Fprintf(w, "\nverdict: %s%s\n", r.Verdict, reason)
	return err
}

func writeRow(w io.Writer, r Row, state string) {
	required := r.Required
	if required == "" {
		required = "–"
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Benchmark, r.Unit,
		quantity.Format(r.Unit, float64(r.Baseline)), quantity.Format(r.Unit, float64(r.Candidate)),
		quantity.Difference(r.Unit, float64(r.Difference.Median)), quantity.Percent(float64(r.Change.Median)),
		r.Change.Range(), required, state)
}

// Range writes the confidence range of a relative change.
func (c Change) Range() string {
	return "[" + quantity.Percent(float64(c.Lo)) + ", " + quantity.Percent(float64(c.Hi)) + "]"
}
