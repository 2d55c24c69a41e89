package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/stat"
)

func TestMedian(t *testing.T) {
	inf := math.Inf(1)
	require.True(t, math.IsNaN(stat.Median(nil)))
	require.Equal(t, 3.0, stat.Median([]float64{3}))
	require.Equal(t, 2.5, stat.Median([]float64{4, 1, 2, 3}))
	require.Equal(t, 3.0, stat.Median([]float64{5, 1, 3}))
	require.Equal(t, inf, stat.Median([]float64{inf, inf}))
	require.Equal(t, math.MaxFloat64, stat.Median([]float64{math.MaxFloat64, math.MaxFloat64}))
	x := []float64{3, 1, 2}
	stat.Median(x)
	require.Equal(t, []float64{3, 1, 2}, x, "the samples are left in their order")
}

// The ranks and confidences are those of the published tables of the sign test
// (Conover, Practical Nonparametric Statistics, table A3, p = 1/2).
func TestRank(t *testing.T) {
	for _, tc := range []struct {
		n     int
		low   int
		exact float64
	}{
		{0, 0, 0}, {1, 0, 0}, {5, 0, 0},
		{6, 1, 0.96875},
		{7, 1, 0.984375},
		{8, 1, 0.9921875},
		{9, 2, 0.9609375},
		{10, 2, 0.978515625},
		{15, 4, 0.96484375},
		{20, 6, 0.95861053466796875},
		{25, 8, 0.956714749336},
		{30, 10, 0.957226},
		{100, 40, 0.964800},
	} {
		low, exact := stat.Rank(tc.n, 0.95)
		require.Equal(t, tc.low, low, "n=%d", tc.n)
		require.InDelta(t, tc.exact, exact, 1e-6, "n=%d", tc.n)
	}
	low, exact := stat.Rank(10, 0.99)
	require.Equal(t, 1, low)
	require.InDelta(t, 1-2.0/1024, exact, 1e-9)
	low, exact = stat.Rank(5000, 0.95)
	require.InDelta(t, 2500-1.96*math.Sqrt(5000)/2, low, 1.5, "large samples behave like the normal distribution")
	require.GreaterOrEqual(t, exact, 0.95)
}

func TestMedianRange(t *testing.T) {
	x := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	r := stat.MedianRange(x, 0.95)
	require.Equal(t, 2.0, r.Lo)
	require.Equal(t, 9.0, r.Hi)
	require.InDelta(t, 0.978515625, r.Confidence, 1e-12)
	require.Equal(t, 10.0, x[0], "the samples are left in their order")
	require.True(t, r.Excludes(1.9))
	require.False(t, r.Excludes(2))
	require.False(t, r.Excludes(9))
	require.True(t, r.Excludes(9.1))

	few := stat.MedianRange(x[:5], 0.95)
	require.Equal(t, stat.Range{Lo: math.Inf(-1), Hi: math.Inf(1), Confidence: 1}, few)
}

// The range holds the true median as often as it says, for noise of several
// kinds. The generators are seeded: the test gives the same counts each time.
func TestMedianRangeCovers(t *testing.T) {
	const experiments = 4000
	noises := map[string]func(*rand.Rand) float64{ // each with median 0
		"normal":     func(r *rand.Rand) float64 { return r.NormFloat64() },
		"log-normal": func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - 1 },
		"cauchy":     func(r *rand.Rand) float64 { return math.Tan(math.Pi * (r.Float64() - 0.5)) },
		"uniform":    func(r *rand.Rand) float64 { return r.Float64() - 0.5 },
	}
	for name, noise := range noises {
		for _, n := range []int{6, 10, 20, 33} {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			held, below, above := 0, 0, 0
			var exact float64
			for range experiments {
				x := make([]float64, n)
				for i := range x {
					x[i] = noise(r)
				}
				got := stat.MedianRange(x, 0.95)
				exact = got.Confidence
				switch {
				case got.Hi < 0:
					below++
				case got.Lo > 0:
					above++
				default:
					held++
				}
			}
			// Four standard deviations of a binomial count.
			tolerance := 4 * math.Sqrt(exact*(1-exact)/experiments)
			require.InDelta(t, exact, float64(held)/experiments, tolerance, "%s, %d samples", name, n)
			require.Less(t, float64(below)/experiments, (1-exact)/2+tolerance, "%s, %d samples", name, n)
			require.Less(t, float64(above)/experiments, (1-exact)/2+tolerance, "%s, %d samples", name, n)
		}
	}
}
