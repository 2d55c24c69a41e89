package quantity_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/quantity"
)

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		unit string
		v    float64
		want string
	}{
		{"ns/op", 0, "0 ns"},
		{"ns/op", 41.27, "41.27 ns"},
		{"ns/op", 999, "999 ns"},
		{"ns/op", 999.99, "1 µs"},
		{"ns/op", 1234567, "1.235 ms"},
		{"ns/op", 7.25e12, "7250 s"},
		{"cpu-ns/sample", 1234, "1.234 µs"},
		{"B/op", 2048, "2 KiB"},
		{"B/op", 1023, "1023 B"},
		{"B/series", 487.3, "487.3 B"},
		{"live-B/series", 2 << 20, "2 MiB"},
		{"accounted-bytes/series", 2048, "2 KiB"},
		{"pct-B-of-prometheus", 2048, "2.048 k"},
		{"contrib-rw1-sent-B", 2048, "2 KiB"},
		{"samples/s", 23.1e6, "23.1 M"},
		{"allocs/op", 294952, "295 k"},
		{"allocs/op", 2, "2"},
		{"allocs/op", 0.001, "0.001"},
		{"x-prometheus", 41.278, "41.28"},
		{"MB/s", 1234.6, "1235"},
		{"ns/op", math.NaN(), "–"},
		{"ns/op", math.Inf(1), "+∞"},
	} {
		require.Equal(t, tc.want, quantity.Format(tc.unit, tc.v), "%v %s", tc.v, tc.unit)
	}
}

func TestShort(t *testing.T) {
	require.Equal(t, "1.23 ms", quantity.Short("ns/op", 1234567))
	require.Equal(t, "1 µs", quantity.Short("ns/op", 999.6))
	require.Equal(t, "21.3 M", quantity.Short("samples/s", 21.34e6))
	require.Equal(t, "109 KiB", quantity.Short("B/op", 109.3*1024))
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 %", 0.00001: "0 %", -0.00001: "0 %", 0.0321: "+3.21 %", -0.268: "−26.80 %", 1.5: "+150 %",
		math.Inf(1): "+∞ %", math.Inf(-1): "−∞ %",
	} {
		require.Equal(t, want, quantity.Percent(v))
	}
	require.Equal(t, "–", quantity.Percent(math.NaN()))
}

func TestDifference(t *testing.T) {
	require.Equal(t, "−5", quantity.Difference("allocs/op", -5))
	require.Equal(t, "+1.5 µs", quantity.Difference("ns/op", 1500))
	require.Equal(t, "0 B", quantity.Difference("B/op", 0))
	require.Equal(t, "−∞", quantity.Difference("B/op", math.Inf(-1)))
}
