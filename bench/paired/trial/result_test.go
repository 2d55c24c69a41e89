package trial

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/gobench"
	"github.com/otlpgw/otlpgw/bench/paired/machine"
	"github.com/otlpgw/otlpgw/bench/paired/stat"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

var rewrite = flag.Bool("rewrite", false, "renew the golden files")

func TestPairChange(t *testing.T) {
	for _, tc := range []struct{ baseline, candidate, want float64 }{
		{100, 95, -0.05},
		{100, 105, 0.05},
		{0, 0, 0},
		{0, 3, math.Inf(1)},
		{3, 0, -1},
		{-2, -1, 0.5},
	} {
		require.InDelta(t, tc.want, Pair{Baseline: tc.baseline, Candidate: tc.candidate}.change(), 1e-12)
	}
}

// An allocation where there was none is a regression, however small.
func TestFromNothing(t *testing.T) {
	s := &subject{name: "BenchmarkX", iterations: 1}
	for range 10 {
		require.NoError(t, s.add([2][]gobench.Value{{{Unit: "allocs/op"}}, {{Unit: "allocs/op", Value: 1}}}, 0))
	}
	r := &Result{Pairs: 10, Confidence: 0.95, MaxRegression: 0.03}
	r.compare([]*subject{s}, nil)
	require.Equal(t, verdict.Failed, r.Verdict)
	require.Equal(t, Number(math.Inf(1)), r.Rows[0].Change.Median)
}

// Samples that report other metrics each time are no pairs.
func TestAdd(t *testing.T) {
	both := func(units ...string) (v [2][]gobench.Value) {
		for _, u := range units {
			v[0] = append(v[0], gobench.Value{Unit: u, Value: 1})
			v[1] = append(v[1], gobench.Value{Unit: u, Value: 2})
		}
		return v
	}
	s := &subject{name: "BenchmarkX"}
	require.NoError(t, s.add(both("ns/op", "MB/s", "B/op"), 0))
	require.Len(t, s.metrics, 3)
	require.NoError(t, s.add(both("B/op", "MB/s", "ns/op"), 1))
	require.Equal(t, []Pair{{1, 2, false}, {1, 2, true}}, s.metrics[0].pairs)
	require.ErrorIs(t, s.add(both("ns/op"), 0), errMetrics)
	require.ErrorIs(t, s.add(both("ns/op", "B/op", "new"), 0), errMetrics)

	s = &subject{name: "BenchmarkX"}
	v := both("ns/op", "B/op")
	v[1] = v[1][:1]
	require.NoError(t, s.add(v, 0))
	require.Len(t, s.metrics, 1, "what only one side reports is not compared")
}

// A rate that only repeats the time is not compared again, unless it is asked for.
func TestRepeated(t *testing.T) {
	s := &subject{name: "BenchmarkX", iterations: 1}
	c := &subject{name: "BenchmarkC", iterations: 1, control: true}
	for range 6 {
		v := []gobench.Value{{Unit: "ns/op", Value: 1}, {Unit: "MB/s", Value: 1}, {Unit: "samples/s", Value: 1}, {Unit: "rows/s", Value: 1}}
		require.NoError(t, s.add([2][]gobench.Value{v, v}, 0))
		require.NoError(t, c.add([2][]gobench.Value{v, v}, 0))
	}
	units := func(rows []Row) (u []string) {
		for _, r := range rows {
			u = append(u, r.Unit)
		}
		return u
	}
	r := &Result{Pairs: 6, Confidence: 0.95, MaxRegression: 0.03}
	r.compare([]*subject{s, c}, []verdict.Requirement{{Unit: "samples/s", Op: ">=", Limit: 0, Relative: true}})
	require.Equal(t, verdict.Passed, r.Verdict, r.Reason)
	require.Equal(t, []string{"ns/op", "samples/s", "rows/s"}, units(r.Rows))
	require.Equal(t, []string{"ns/op", "rows/s"}, units(r.Control))
}

func TestControlState(t *testing.T) {
	r := &Result{ControlTolerance: 0.01}
	for want, c := range map[string]Change{
		"stood still": {Lo: -0.01, Hi: 0.01},
		"not clear":   {Lo: -0.02, Hi: 0.005},
		"MOVED":       {Lo: 0.011, Hi: 0.02},
	} {
		row := Row{Change: c}
		row.Reason = r.moved(row)
		require.Equal(t, want, r.ControlState(row))
	}
	require.Equal(t, "not clear", r.ControlState(Row{Change: Change{Lo: Number(math.Inf(-1)), Hi: Number(math.Inf(1))}}))
}

func TestControlConfidence(t *testing.T) {
	control := func(units ...string) *subject {
		s := &subject{control: true}
		for _, u := range units {
			s.metrics = append(s.metrics, metric{unit: u})
		}
		return s
	}
	for _, tc := range []struct {
		pairs    int
		subjects []*subject
		low      int
		exact    float64
	}{
		{100, nil, 40, 0.9648},
		{100, []*subject{control("ns/op", "samples/s"), control("ns/op")}, 38, 0.9881}, // 3 ranges: two and the group
		{10, []*subject{control("ns/op", "B/op"), control("ns/op", "B/op")}, 1, 0.998},
		{6, []*subject{control("ns/op", "B/op"), control("ns/op", "B/op")}, 1, 0.96875},
		{5, []*subject{control("ns/op")}, 0, 0},
	} {
		r := &Result{Pairs: tc.pairs, Confidence: 0.95}
		low, exact := stat.Rank(tc.pairs, r.controlConfidence(append(tc.subjects, &subject{metrics: []metric{{unit: "ns/op"}}})))
		require.Equal(t, tc.low, low, "%d pairs", tc.pairs)
		require.InDelta(t, tc.exact, exact, 1e-3, "%d pairs", tc.pairs)
	}
}

func TestCompareReasons(t *testing.T) {
	r := world{}.simulate(rand.New(rand.NewPCG(1, 1)), 10, verdict.Requirement{Unit: "rows/s", Op: ">=", Limit: 0, Relative: true})
	require.Equal(t, verdict.NotResolved, r.Verdict)
	require.Equal(t, "no benchmark reports rows/s, of which >= 0 % is required", r.Reason)

	s := &subject{name: "BenchmarkX", metrics: []metric{{"ns/op", make([]Pair, 10)}}}
	r = &Result{Pairs: 10, Confidence: 0.95, ControlBench: "Nothing"}
	r.compare([]*subject{s}, nil)
	require.Equal(t, verdict.NotResolved, r.Verdict)
	require.Contains(t, r.Reason, "the control group is empty")

	r = &Result{Pairs: 10, Confidence: 0.95}
	r.compare(nil, nil)
	require.Equal(t, verdict.NotResolved, r.Verdict, "nothing was compared")
}

// The group is compared as one: the median of its benchmarks, pair by pair.
func TestControlGroup(t *testing.T) {
	r := &Result{Pairs: 6, Confidence: 0.95, ControlTolerance: 0.01, ControlBench: "C"}
	var controls []*subject
	for _, change := range []float64{1, 1.002, 1.3} {
		pairs := make([]Pair, 6)
		for i := range pairs {
			pairs[i] = Pair{Baseline: 100, Candidate: 100 * change}
		}
		controls = append(controls, &subject{name: "BenchmarkC", control: true, metrics: []metric{{"ns/op", pairs}}})
	}
	subjectPairs := &subject{name: "BenchmarkX", metrics: []metric{{"ns/op", make([]Pair, 6)}}}
	r.compare(append(controls, subjectPairs), nil)
	require.Len(t, r.Group, 1)
	require.InDelta(t, 0.002, float64(r.Group[0].Change.Median), 1e-9)
	require.Empty(t, r.Group[0].Reason)
	require.Equal(t, verdict.NotResolved, r.Verdict, "one control that moves is enough")
	require.Equal(t, "control moved: BenchmarkC ns/op by +30.00 %, range +30.00 % to +30.00 %", r.Reason)
}

func example() *Result {
	r := world{effect: -0.1, noise: 0.01}.simulate(rand.New(rand.NewPCG(8, 8)), 10, verdict.Requirement{Unit: "ns/op", Op: "<=", Limit: -0.05, Relative: true})
	r.Started = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	r.Machine = machine.Info{CPU: "Some CPU", Cores: 2, OS: "linux/amd64", Go: "go1.26.8"}
	r.Baseline, r.Candidate = Side{Label: "0123456789ab"}, Side{Label: "working tree", Env: []string{"GOGC=50"}}
	r.Bench, r.Procs, r.Benchtime, r.Seed = "Subject", 1, "1s", 42
	r.OnlyCandidate = []string{"BenchmarkNew"}
	return r
}

func TestText(t *testing.T) {
	for name, change := range map[string]func(*Result){
		"passed.txt": func(*Result) {},
		"moved.txt": func(r *Result) {
			*r = *world{shift: 0.1}.simulate(rand.New(rand.NewPCG(8, 8)), 10)
		},
		"few.txt": func(r *Result) {
			*r = *world{}.simulate(rand.New(rand.NewPCG(8, 8)), 3)
			r.ControlBench, r.OnlyBaseline = "", []string{"BenchmarkOld"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := example()
			change(r)
			var got strings.Builder
			require.NoError(t, r.WriteText(&got))
			path := filepath.Join("testdata", name)
			if *rewrite {
				require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}

// What is written can be read back and judged again.
func TestJSON(t *testing.T) {
	r := example()
	r.Rows[0].Change.Lo, r.Rows[0].Change.Hi = Number(math.Inf(-1)), Number(math.Inf(1))
	b, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(b), `"lo":"-Inf","hi":"+Inf"`)
	var back Result
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, r.Rows, back.Rows)
	require.Equal(t, r.Verdict, back.Verdict)
	require.True(t, math.IsNaN(float64(back.Group[0].Baseline)))
	again, err := json.Marshal(&back)
	require.NoError(t, err)
	require.JSONEq(t, string(b), string(again))
}
