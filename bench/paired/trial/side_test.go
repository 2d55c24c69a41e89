package trial

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVary(t *testing.T) {
	base, candidate, v, err := vary("Reference/(a/b)/serial/{built,pooled}$")
	require.NoError(t, err)
	require.Equal(t, "Reference/(a/b)/serial/built$", base)
	require.Equal(t, "Reference/(a/b)/serial/pooled$", candidate)
	require.Equal(t, 3, v.element)

	name, ok := v.common("BenchmarkReference/x/serial/built", 0)
	require.True(t, ok)
	require.Equal(t, "BenchmarkReference/x/serial/{built,pooled}", name)
	name, ok = v.common("BenchmarkReference/x/serial/pooled", 1)
	require.True(t, ok)
	require.Equal(t, "BenchmarkReference/x/serial/{built,pooled}", name)
	_, ok = v.common("BenchmarkReference/built", 0)
	require.False(t, ok, "the name has no such part")
	_, ok = v.common("BenchmarkReference/x/serial/other", 0)
	require.False(t, ok)

	base, candidate, v, err = vary("^Benchmark{A.1,B2}$/x")
	require.NoError(t, err)
	require.Equal(t, `^BenchmarkA\.1$/x`, base)
	require.Equal(t, `^BenchmarkB2$/x`, candidate)
	name, ok = v.common("BenchmarkB2/x", 1)
	require.True(t, ok)
	require.Equal(t, "Benchmark{A.1,B2}/x", name)
}

func TestVaryNothing(t *testing.T) {
	for _, bench := range []string{".", "Handler/[ab]{2,3}/x", "Handler/a{2}", "Handler/a{2,}"} {
		base, candidate, v, err := vary(bench)
		require.NoError(t, err)
		require.Equal(t, bench, base)
		require.Equal(t, bench, candidate)
		name, ok := v.common("BenchmarkHandler/x", 0)
		require.True(t, ok)
		require.Equal(t, "BenchmarkHandler/x", name)
	}
	_, _, _, err := vary("{a,b}/{c,d}")
	require.ErrorContains(t, err, "varies in more than one place")
}

func TestExactly(t *testing.T) {
	require.Equal(t, `^BenchmarkX$/^a\.b$/^c=1$`, exactly("BenchmarkX/a.b/c=1"))
}
