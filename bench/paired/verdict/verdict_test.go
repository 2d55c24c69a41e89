package verdict_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/stat"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

func TestJudge(t *testing.T) {
	inf := math.Inf(1)
	for _, tc := range []struct {
		require string
		lo, hi  float64
		want    verdict.Verdict
	}{
		{"ns/op<=-5%", -0.09, -0.06, verdict.Passed},
		{"ns/op<=-5%", -0.09, -0.05, verdict.Passed},
		{"ns/op<=-5%", -0.09, -0.04, verdict.NotResolved}, // straddles
		{"ns/op<=-5%", -0.05, -0.04, verdict.NotResolved},
		{"ns/op<=-5%", -0.04, -0.03, verdict.Failed}, // better, but not by enough
		{"ns/op<=-5%", -0.01, 0.01, verdict.Failed},
		{"ns/op<-5%", -0.09, -0.05, verdict.NotResolved},
		{"ns/op<-5%", -0.09, -0.051, verdict.Passed},
		{"ns/op<-5%", -0.05, 0, verdict.Failed},
		{"ns/op<0%", 0, 0, verdict.Failed}, // nothing changed
		{"ns/op<=0%", 0, 0, verdict.Passed},
		{"ns/op<=3%", -0.5, 0.029, verdict.Passed},
		{"ns/op<=3%", -0.5, 0.031, verdict.NotResolved},
		{"ns/op<=3%", 0.04, inf, verdict.Failed},
		{"samples/s>=10%", 0.1, 0.2, verdict.Passed},
		{"samples/s>=10%", 0.09, 0.2, verdict.NotResolved},
		{"samples/s>=10%", -0.1, 0.09, verdict.Failed},
		{"samples/s>10%", 0.1, 0.2, verdict.NotResolved},
		{"samples/s>10%", 0.0, 0.1, verdict.Failed},
		{"allocs/op<=-5", -7, -5, verdict.Passed},
		{"allocs/op<=-5", -5, -4, verdict.NotResolved},
		{"allocs/op<=-5", -4, -4, verdict.Failed},
		{"ns/op<=3%", -inf, inf, verdict.NotResolved}, // too few pairs
		{"ns/op<=3%", math.NaN(), 0, verdict.NotResolved},
		{"ns/op<=3%", 0, math.NaN(), verdict.NotResolved},
	} {
		r, err := verdict.Parse(tc.require)
		require.NoError(t, err)
		require.Equal(t, tc.want, r.Judge(stat.Range{Lo: tc.lo, Hi: tc.hi}), "%s for [%v, %v]", tc.require, tc.lo, tc.hi)
	}
}

func TestOf(t *testing.T) {
	const p, f, n = verdict.Passed, verdict.Failed, verdict.NotResolved
	for _, tc := range []struct {
		parts []verdict.Verdict
		want  verdict.Verdict
	}{
		{nil, n},
		{[]verdict.Verdict{p}, p},
		{[]verdict.Verdict{p, p}, p},
		{[]verdict.Verdict{p, n}, n},
		{[]verdict.Verdict{n, p, f}, f},
		{[]verdict.Verdict{p, ""}, n},
	} {
		require.Equal(t, tc.want, verdict.Of(tc.parts...), "%v", tc.parts)
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]verdict.Requirement{
		"ns/op<=-5%":      {Unit: "ns/op", Op: "<=", Limit: -0.05, Relative: true},
		"B/op < -26.8 %":  {Unit: "B/op", Op: "<", Limit: -0.268, Relative: true},
		"allocs/op<=-5":   {Unit: "allocs/op", Op: "<=", Limit: -5},
		"samples/s>=+10%": {Unit: "samples/s", Op: ">=", Limit: 0.1, Relative: true},
		"x-prometheus>1":  {Unit: "x-prometheus", Op: ">", Limit: 1},
	} {
		got, err := verdict.Parse(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", "ns/op", "ns/op<=", "<=5%", "ns/op=5%", "ns/op<=five%", "ns/op<=5%%", "ns/op<=NaN%", "ns/op<=Inf", "ns/op<5<6"} {
		_, err := verdict.Parse(in)
		require.ErrorContains(t, err, "is not of the form", "%q", in)
	}
}

func TestString(t *testing.T) {
	for in, want := range map[string]string{
		"ns/op<=-5%":    "<= -5 %",
		"ns/op<=3%":     "<= +3 %",
		"ns/op<0%":      "< 0 %",
		"ns/op<=-7.1%":  "<= -7.1 %",
		"allocs/op<=-5": "<= -5",
	} {
		r, err := verdict.Parse(in)
		require.NoError(t, err)
		require.Equal(t, want, r.String())
	}
}

func TestNoRegression(t *testing.T) {
	require.Equal(t, verdict.Requirement{Unit: "ns/op", Op: "<=", Limit: 0.03, Relative: true}, verdict.NoRegression("ns/op", 0.03))
	for _, unit := range []string{"samples/s", "otlpgw-samples/s", "MB/s", "x-prometheus"} {
		require.Equal(t, verdict.Requirement{Unit: unit, Op: ">=", Limit: -0.03, Relative: true}, verdict.NoRegression(unit, 0.03))
	}
}
