// Package trial compares two builds, or two configurations of one, by running
// their benchmarks in pairs.
//
// Every sample is a process of its own, so that no heap, no cache and no
// scheduler state reaches from one into the next. A pair is a sample of each
// side directly after one another, in an order that a coin decides: what the
// machine does slowly concerns both halves of a pair, and what comes from being
// first or second concerns either side as often. All pairs of all benchmarks
// take turns. Both sides run the same number of iterations, which one run of
// the baseline has found for the asked time.
//
// What is said about a metric is the median of the paired changes, and the
// range that holds it with the asked confidence (see stat.MedianRange). Beside
// the benchmarks runs a control group that the change cannot reach. If one of it
// moves, the machine or the build has moved, and nothing is resolved. The ranges
// of the control group are wider, so that they hold together.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/otlpgw/otlpgw/bench/paired/gobench"
	"github.com/otlpgw/otlpgw/bench/paired/machine"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

// CPUPerOp is the metric of user and system time of the whole process, set-up
// included, per iteration. It stands beside what a benchmark reports, unless
// that has a metric of its own whose name begins with "cpu-".
const CPUPerOp = "cpu-ns/op"

// Options say what to compare and what is asked of it.
type Options struct {
	Baseline, Candidate Side
	// Bench chooses the benchmarks, as go test -bench does. One pair of braces,
	// as in Reference/serial/{built,pooled}, names the baseline's and the
	// candidate's: two configurations of one build.
	Bench string
	// Control chooses benchmarks that the change cannot reach. Empty: none.
	Control string
	// Pairs is the number of samples of each side, 6 at least to say anything
	// with 95 % confidence. Zero is 10.
	Pairs int
	// Benchtime is the time or the number of iterations (100x) of a sample.
	// Empty is 1s.
	Benchtime string
	// Procs is GOMAXPROCS. Zero is 1.
	Procs int
	// Requirements are asked of the metrics that they name. Every other metric
	// must not get worse by more than MaxRegression.
	Requirements  []verdict.Requirement
	MaxRegression float64 // a fraction; zero is 0.03
	// ControlTolerance is by how much the range of a control's change may miss
	// zero; a fraction, zero is 0.01.
	ControlTolerance float64
	// Confidence of the ranges. Zero is 0.95.
	Confidence float64
	// Seed decides the order. Zero takes one by chance; the result names it.
	Seed uint64
	// Progress is told how far the trial is. Nil: nobody.
	Progress io.Writer
}

func (o Options) withDefaults() Options {
	zero := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	zero(&o.MaxRegression, 0.03)
	zero(&o.ControlTolerance, 0.01)
	zero(&o.Confidence, 0.95)
	if o.Pairs == 0 {
		o.Pairs = 10
	}
	if o.Procs == 0 {
		o.Procs = 1
	}
	if o.Benchtime == "" {
		o.Benchtime = "1s"
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}

// subject is a benchmark that both sides have.
type subject struct {
	name       string    // common to both
	names      [2]string // of the baseline and of the candidate
	iterations int
	control    bool
	metrics    []metric // filled by samples
}

// Run runs all pairs and compares them. An error says that the trial could not
// be held, and never what came out of it.
func Run(ctx context.Context, o Options) (*Result, error) {
	o = o.withDefaults()
	if o.Pairs < 0 || o.Pairs > 1000 {
		return nil, fmt.Errorf("%d pairs: between 1 and 1000 can be run", o.Pairs)
	}
	started := time.Now().UTC().Truncate(time.Second)
	sides := [2]Side{o.Baseline, o.Candidate}

	result := &Result{
		Started: started, Machine: machine.Here(), Baseline: o.Baseline, Candidate: o.Candidate,
		Bench: o.Bench, ControlBench: o.Control, ControlTolerance: o.ControlTolerance, MaxRegression: o.MaxRegression,
		Pairs: o.Pairs, Procs: o.Procs, Benchtime: o.Benchtime, Confidence: o.Confidence, Seed: o.Seed,
	}
	var subjects []*subject
	if o.Control != "" {
		found, only, err := find(ctx, o, sides, o.Control)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			s.control = true
		}
		subjects = found
		result.missing(only)
	}
	found, only, err := find(ctx, o, sides, o.Bench)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		if !slices.ContainsFunc(subjects, func(c *subject) bool { return c.name == s.name }) {
			subjects = append(subjects, s)
		}
	}
	result.missing(only)
	if !slices.ContainsFunc(subjects, func(s *subject) bool { return !s.control }) {
		return nil, fmt.Errorf("no benchmark of both sides matches %s", o.Bench)
	}

	random := rand.New(rand.NewPCG(o.Seed, 0))
	for pair := range o.Pairs {
		fmt.Fprintf(o.Progress, "pair %d of %d\n", pair+1, o.Pairs)
		for _, i := range random.Perm(len(subjects)) {
			if err := subjects[i].sample(ctx, sides, o.Procs, random.IntN(2)); err != nil {
				return nil, err
			}
		}
	}
	result.compare(subjects, o.Requirements)
	return result, nil
}

// find lists the benchmarks that match on both sides, with the iterations that
// the baseline makes of them in the asked time, and those of one side only.
func find(ctx context.Context, o Options, sides [2]Side, bench string) (found []*subject, only [2][]string, err error) {
	var expressions [2]string
	var v *variation
	expressions[0], expressions[1], v, err = vary(bench)
	if err != nil {
		return nil, only, err
	}
	fmt.Fprintf(o.Progress, "looking for %s\n", bench)
	var first, second process
	if first, err = sides[0].run(ctx, expressions[0], o.Benchtime, o.Procs); err != nil {
		return nil, only, err
	}
	if second, err = sides[1].run(ctx, expressions[1], "1x", o.Procs); err != nil {
		return nil, only, err
	}
	candidates := map[string]string{}
	var names []string
	for _, r := range second.results {
		if name, ok := v.common(r.Name, 1); ok {
			candidates[name] = r.Name
			names = append(names, name)
		}
	}
	for _, r := range first.results {
		name, ok := v.common(r.Name, 0)
		if !ok {
			continue
		}
		if theirs, ok := candidates[name]; ok {
			found = append(found, &subject{name: name, names: [2]string{r.Name, theirs}, iterations: r.Iterations})
			delete(candidates, name)
		} else {
			only[0] = append(only[0], name)
		}
	}
	for _, name := range names {
		if _, left := candidates[name]; left {
			only[1] = append(only[1], name)
		}
	}
	return found, only, nil
}

// sample runs one pair; first says which side begins.
func (s *subject) sample(ctx context.Context, sides [2]Side, procs, first int) error {
	var values [2][]gobench.Value
	for _, side := range []int{first, 1 - first} {
		p, err := sides[side].run(ctx, exactly(s.names[side]), fmt.Sprintf("%dx", s.iterations), procs)
		if err != nil {
			return err
		}
		if len(p.results) != 1 {
			return fmt.Errorf("%s: %s printed %d results where one is expected", sides[side].Label, s.names[side], len(p.results))
		}
		r := p.results[0]
		if r.Iterations < 1 {
			return fmt.Errorf("%s: %s ran no iteration", sides[side].Label, s.names[side])
		}
		values[side] = r.Values
		if !slices.ContainsFunc(r.Values, func(v gobench.Value) bool { return strings.HasPrefix(v.Unit, "cpu-") }) {
			perOp := float64(p.cpu.Nanoseconds()) / float64(r.Iterations)
			values[side] = append(values[side], gobench.Value{Unit: CPUPerOp, Value: perOp})
		}
	}
	return s.add(values, first)
}

var errMetrics = errors.New("the metrics of a benchmark differ from sample to sample")

// add appends the values of one pair to the metrics, of which every pair must
// hold the same.
func (s *subject) add(values [2][]gobench.Value, first int) error {
	fresh := s.metrics == nil
	held := 0
	for _, b := range values[0] {
		i := slices.IndexFunc(values[1], func(c gobench.Value) bool { return c.Unit == b.Unit })
		at := slices.IndexFunc(s.metrics, func(m metric) bool { return m.unit == b.Unit })
		switch {
		case i < 0:
			continue // Only the baseline has it.
		case at < 0 && !fresh:
			return fmt.Errorf("%s: %s: %w", s.name, b.Unit, errMetrics)
		case at < 0:
			at = len(s.metrics)
			s.metrics = append(s.metrics, metric{unit: b.Unit})
		}
		held++
		s.metrics[at].pairs = append(s.metrics[at].pairs,
			Pair{Baseline: b.Value, Candidate: values[1][i].Value, CandidateFirst: first == 1})
	}
	if held != len(s.metrics) {
		return fmt.Errorf("%s: %w", s.name, errMetrics)
	}
	return nil
}
