package trial_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/trial"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

// The benchmarks that the tests below compare are in this test's own binary.
// They allocate what they say, and report numbers that depend on the
// environment, so that nothing depends on time.

var sink []byte

func BenchmarkFixture(b *testing.B) {
	allocate := func(n int) func(*testing.B) {
		return func(b *testing.B) {
			for range b.N {
				for range n {
					sink = make([]byte, 512)
				}
			}
		}
	}
	b.Run("many", allocate(6))
	b.Run("few", allocate(1))
	b.Run("name-8", func(b *testing.B) { b.ReportMetric(float64(b.N), "things") })
	b.Run("env", func(b *testing.B) {
		switch os.Getenv("PAIRED_FIXTURE") {
		case "fail":
			b.Fatal("it was asked to fail")
		case "fast":
			b.ReportMetric(200, "samples/s")
		default:
			b.ReportMetric(100, "samples/s")
		}
		b.ReportMetric(7, "cpu-ns/sample")
	})
	if os.Getenv("PAIRED_FIXTURE") == "fast" {
		b.Run("new", func(*testing.B) {})
	}
}

func self(t *testing.T, label string, env ...string) trial.Side {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	// With the race detector each process would wait a second before it ends.
	env = append(env, "GORACE=atexit_sleep_ms=0")
	return trial.Side{Label: label, Binary: binary, Dir: t.TempDir(), Env: env}
}

func find(t *testing.T, rows []trial.Row, benchmark, unit string) trial.Row {
	t.Helper()
	for _, r := range rows {
		if r.Benchmark == benchmark && r.Unit == unit {
			return r
		}
	}
	t.Fatalf("no row of %s, %s", benchmark, unit)
	return trial.Row{}
}

func requirement(t *testing.T, s string) verdict.Requirement {
	t.Helper()
	r, err := verdict.Parse(s)
	require.NoError(t, err)
	return r
}

// Two configurations of one build, as the reference experiment compares them.
func TestRunConfigurations(t *testing.T) {
	var progress strings.Builder
	r, err := trial.Run(t.Context(), trial.Options{
		Baseline: self(t, "six"), Candidate: self(t, "one"),
		Bench: "^BenchmarkFixture$/^{many,few}$", Control: "^BenchmarkFixture$/^name",
		Pairs: 6, Benchtime: "1000x", Procs: 2, Seed: 7, Progress: &progress,
		Requirements: []verdict.Requirement{
			requirement(t, "B/op<=-80%"), requirement(t, "allocs/op<=-5"), requirement(t, "allocs/op>=-5"),
		},
		MaxRegression: 1e9, ControlTolerance: 1e9, // Time is not what is tested.
	})
	require.NoError(t, err)
	require.Equal(t, verdict.Passed, r.Verdict, r.Reason)

	allocs := find(t, r.Rows, "BenchmarkFixture/{many,few}", "allocs/op")
	require.Equal(t, trial.Number(6), allocs.Baseline)
	require.Equal(t, trial.Number(1), allocs.Candidate)
	require.Equal(t, trial.Number(-5), allocs.Difference.Median)
	require.Equal(t, trial.Number(-5), allocs.Difference.Lo)
	require.InDelta(t, -5.0/6, float64(allocs.Change.Median), 1e-9)
	require.Equal(t, "<= -5 and >= -5", allocs.Required)
	require.Equal(t, verdict.Passed, allocs.Verdict)
	require.Equal(t, 1000, allocs.Iterations)
	require.Len(t, allocs.Samples, 6)

	require.Positive(t, float64(find(t, r.Rows, "BenchmarkFixture/{many,few}", trial.CPUPerOp).Baseline))
	things := find(t, r.Control, "BenchmarkFixture/name-8", "things")
	require.Equal(t, trial.Number(1000), things.Baseline, "a name that ends in a number is kept whole")
	find(t, r.Group, "control group", "things")
	require.Contains(t, progress.String(), "pair 6 of 6")

	for _, s := range r.Rows {
		first := 0
		for _, p := range s.Samples {
			if p.CandidateFirst {
				first++
			}
		}
		require.Positive(t, first, "this seed lets either side begin")
		require.Less(t, first, 6, "this seed lets either side begin")
	}
}

// Two environments of one build.
func TestRunEnvironments(t *testing.T) {
	r, err := trial.Run(t.Context(), trial.Options{
		Baseline: self(t, "default"), Candidate: self(t, "fast", "PAIRED_FIXTURE=fast"),
		Bench: "^BenchmarkFixture$/^(env|new)$", Pairs: 6, Benchtime: "1x",
		Requirements:  []verdict.Requirement{requirement(t, "samples/s>=90%")},
		MaxRegression: 1e9,
	})
	require.NoError(t, err)
	row := find(t, r.Rows, "BenchmarkFixture/env", "samples/s")
	require.Equal(t, trial.Number(1), row.Change.Median)
	require.Equal(t, verdict.Passed, row.Verdict)
	require.Equal(t, []string{"BenchmarkFixture/new"}, r.OnlyCandidate)
	require.Empty(t, r.OnlyBaseline)
	require.NotZero(t, r.Seed)
	for _, row := range r.Rows {
		require.NotEqual(t, trial.CPUPerOp, row.Unit, "the benchmark has its own measure of CPU time")
	}
}

func TestRunFaults(t *testing.T) {
	options := func(bench string, candidateEnv ...string) trial.Options {
		return trial.Options{
			Baseline: self(t, "old"), Candidate: self(t, "new", candidateEnv...),
			Bench: bench, Pairs: 1, Benchtime: "1x",
		}
	}
	_, err := trial.Run(t.Context(), options("BenchmarkNowhere"))
	require.ErrorContains(t, err, "no benchmark of both sides matches BenchmarkNowhere")

	_, err = trial.Run(t.Context(), options("^BenchmarkFixture$/^env$", "PAIRED_FIXTURE=fail"))
	require.ErrorContains(t, err, "new: benchmarks ^BenchmarkFixture$/^env$")
	require.ErrorContains(t, err, "it was asked to fail")

	o := options(".")
	o.Pairs = 1001
	_, err = trial.Run(t.Context(), o)
	require.ErrorContains(t, err, "between 1 and 1000")

	o = options("{a,b}{c,d}")
	_, err = trial.Run(t.Context(), o)
	require.ErrorContains(t, err, "more than one place")

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = trial.Run(cancelled, options("^BenchmarkFixture$/^env$"))
	require.ErrorIs(t, err, context.Canceled)
}
