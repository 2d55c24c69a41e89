package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/gobench"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

// world makes samples as a machine would: every factor multiplies the time.
type world struct {
	effect float64 // of the change, on the candidate
	noise  float64 // of each sample, log-normal
	drift  float64 // of the machine, from pair to pair, a random walk
	second float64 // of being second in a pair
	shift  float64 // of the candidate's build, on everything in it
	fixed  bool    // the baseline is always first
}

// simulate runs one trial with ten pairs in w.
func (w world) simulate(r *rand.Rand, pairs int, requirements ...verdict.Requirement) *Result {
	subjects := []*subject{
		{name: "BenchmarkSubject", iterations: 1},
		{name: "BenchmarkControl", iterations: 1, control: true},
	}
	speed := 1.0
	for range pairs {
		speed *= math.Exp(w.drift * r.NormFloat64())
		for _, s := range subjects {
			first := r.IntN(2)
			if w.fixed {
				first = 0
			}
			var values [2][]gobench.Value
			for side := range values {
				ns := 1000 * speed * math.Exp(w.noise*r.NormFloat64())
				if side != first {
					ns *= 1 + w.second
				}
				if side == 1 {
					ns *= 1 + w.shift
					if !s.control {
						ns *= 1 + w.effect
					}
				}
				values[side] = []gobench.Value{{Unit: "ns/op", Value: ns}, {Unit: "allocs/op", Value: 2}}
			}
			if err := s.add(values, first); err != nil {
				panic(err)
			}
		}
	}
	result := &Result{Pairs: pairs, Confidence: 0.95, MaxRegression: 0.03, ControlTolerance: 0.01, ControlBench: "Control"}
	result.compare(subjects, requirements)
	return result
}

// count simulates many trials and counts the verdicts on the time.
func (w world) count(pairs int, require string) map[verdict.Verdict]int {
	r := rand.New(rand.NewPCG(2, 3))
	q, err := verdict.Parse(require)
	if err != nil {
		panic(err)
	}
	counts := map[verdict.Verdict]int{}
	for range experiments {
		counts[w.simulate(r, pairs, q).Rows[0].Verdict]++
	}
	return counts
}

const experiments = 1000

// A change that changes nothing is not found to be faster more often than the
// stated rate: half of what a range of 95 % leaves, on its lower side.
func TestNothingIsNotFaster(t *testing.T) {
	for name, w := range map[string]world{
		"quiet":              {noise: 0.005},
		"noisy":              {noise: 0.1},
		"drifting":           {noise: 0.01, drift: 0.05},
		"second is slower":   {noise: 0.01, second: 0.03},
		"second is faster":   {noise: 0.01, second: -0.03},
		"everything at once": {noise: 0.03, drift: 0.1, second: 0.05},
	} {
		for _, pairs := range []int{6, 10, 21} {
			t.Run(fmt.Sprintf("%s, %d pairs", name, pairs), func(t *testing.T) {
				counts := w.count(pairs, "ns/op<0%")
				require.LessOrEqual(t, counts[verdict.Passed], 25, "%v", counts)
				counts = w.count(pairs, "ns/op<=-5%")
				require.LessOrEqual(t, counts[verdict.Passed], 25, "%v", counts)
			})
		}
	}
}

// With too few pairs nothing passes at all.
func TestTooFewPairs(t *testing.T) {
	counts := world{effect: -0.5, noise: 0.001}.count(5, "ns/op<=-5%")
	require.Equal(t, map[verdict.Verdict]int{verdict.NotResolved: experiments}, counts)
	r := world{effect: -0.5}.simulate(rand.New(rand.NewPCG(1, 1)), 5)
	require.Equal(t, verdict.NotResolved, r.Verdict)
	require.Equal(t, "5 pairs are too few for a confidence of 95 %", r.Reason)
	require.True(t, math.IsInf(float64(r.Rows[0].Change.Lo), -1))
}

// What is there is found: a tool that never says PASSED would pass the tests
// above, too.
func TestSomethingIsFound(t *testing.T) {
	for name, w := range map[string]world{
		"quiet":            {effect: -0.08, noise: 0.005},
		"drifting":         {effect: -0.08, noise: 0.005, drift: 0.05},
		"second is slower": {effect: -0.12, noise: 0.005, second: 0.02},
	} {
		counts := w.count(10, "ns/op<=-5%")
		require.GreaterOrEqual(t, counts[verdict.Passed], 950, "%s: %v", name, counts)
	}
	counts := world{effect: 0.1, noise: 0.005}.count(10, "ns/op<=3%")
	require.GreaterOrEqual(t, counts[verdict.Failed], 950, "a regression: %v", counts)
	counts = world{noise: 0.005}.count(10, "ns/op<=3%")
	require.GreaterOrEqual(t, counts[verdict.Passed], 950, "no regression: %v", counts)
	counts = world{effect: -0.02, noise: 0.005}.count(10, "ns/op<=-5%")
	require.GreaterOrEqual(t, counts[verdict.Failed], 950, "faster, but not by enough: %v", counts)
	counts = world{effect: -0.05, noise: 0.05}.count(10, "ns/op<=-5%")
	require.GreaterOrEqual(t, counts[verdict.NotResolved], 950, "on the limit: %v", counts)
}

// Why the order is left to chance: with the baseline always first, a machine
// that is faster the second time makes anything an improvement. The control
// group, which runs in the same order, sees it.
func TestFixedOrderIsSeenByTheControl(t *testing.T) {
	w := world{noise: 0.005, second: -0.05, fixed: true}
	r := w.simulate(rand.New(rand.NewPCG(4, 4)), 10)
	require.Less(t, float64(r.Rows[0].Change.Hi), -0.03, "it looks faster")
	require.Equal(t, verdict.NotResolved, r.Verdict)
	require.Contains(t, r.Reason, "control moved: control group ns/op by −")
}

// A build in which everything is slower, the control too, resolves nothing,
// neither for nor against the change.
func TestControlThatMovesVoids(t *testing.T) {
	for _, w := range []world{
		{shift: 0.05, noise: 0.005},
		{shift: -0.05, noise: 0.005},
		{shift: -0.05, effect: -0.2, noise: 0.005},
	} {
		r := w.simulate(rand.New(rand.NewPCG(5, 5)), 10)
		require.Equal(t, verdict.NotResolved, r.Verdict)
		require.Contains(t, r.Reason, "control moved")
		for _, row := range r.Rows {
			require.Equal(t, verdict.NotResolved, row.Verdict)
			require.Contains(t, row.Reason, "control moved")
		}
		require.NotEmpty(t, r.Control[0].Reason)
		require.Empty(t, r.Control[1].Reason, "its allocations stood still")
	}

	// Within the tolerance it is left alone.
	r := world{shift: 0.005, noise: 0.0001}.simulate(rand.New(rand.NewPCG(6, 6)), 10)
	require.Equal(t, verdict.Passed, r.Verdict, r.Reason)
	require.Greater(t, float64(r.Control[0].Change.Lo), 0.0)
}

// A control group that stands still seldom seems to move, however many
// benchmarks it has: its ranges hold together.
func TestControlSeldomVoids(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	voided := 0
	for range experiments {
		subjects := []*subject{{name: "BenchmarkSubject"}}
		for range 6 {
			subjects = append(subjects, &subject{name: "BenchmarkControl", control: true})
		}
		for range 10 {
			for _, s := range subjects {
				var values [2][]gobench.Value
				for side := range values {
					values[side] = []gobench.Value{{Unit: "ns/op", Value: math.Exp(0.1 * r.NormFloat64())}, {Unit: "cpu-ns/op", Value: math.Exp(0.1 * r.NormFloat64())}}
				}
				require.NoError(t, s.add(values, 0))
			}
		}
		result := &Result{Pairs: 10, Confidence: 0.95, MaxRegression: 0.03, ControlTolerance: 0.01, ControlBench: "C"}
		result.compare(subjects, nil)
		if result.Reason != "" {
			voided++
		}
	}
	require.LessOrEqual(t, voided, 50)
}
