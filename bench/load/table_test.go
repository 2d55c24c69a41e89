package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	var times []time.Duration
	require.Zero(t, quantile(times, 0.5))
	for i := range 200 {
		times = append(times, time.Duration(i+1))
	}
	require.EqualValues(t, 1, quantile(times, 0))
	require.EqualValues(t, 100, quantile(times, 0.5))
	require.EqualValues(t, 198, quantile(times, 0.99))
	require.EqualValues(t, 200, quantile(times, 1))
	require.EqualValues(t, 1, quantile(times[:1], 0.99))
}

func TestParseStat(t *testing.T) {
	got, err := parseStat("42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 150 75 9 9 20 0 8 0 100 1 1\n")
	require.NoError(t, err)
	require.Equal(t, 2250*time.Millisecond, got)
	for _, text := range []string{"", "42 (a) S 1 2", "42 (a) S 1 42 42 0 -1 4194560 1 2 3 4 x 75 9"} {
		_, err := parseStat(text)
		require.Error(t, err, text)
	}
}

func TestParsePeak(t *testing.T) {
	got, err := parsePeak("VmPeak:\t 9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n")
	require.NoError(t, err)
	require.EqualValues(t, 1234<<10, got)
	_, err = parsePeak("VmRSS:\t 7 kB\n")
	require.Error(t, err)
}

// Ratios are taken within a run, and their median is printed.
func TestTables(t *testing.T) {
	made := func(cpu time.Duration) *result {
		return &result{
			sent: 1000, delivered: 1000, cpu: cpu, peakRSS: 20e6, wire: 3e6, raw: 4e6, writes: 5,
			p50: time.Millisecond, p99: 2 * time.Millisecond, took: time.Second,
		}
	}
	slow := made(8 * time.Millisecond)
	slow.delivered = 800
	rows := []row{
		{party: party{name: "floor"}, results: []*result{made(time.Millisecond), made(2 * time.Millisecond), made(3 * time.Millisecond)},
			singles: [][]single{{{p50: 3 * time.Millisecond, p99: 4 * time.Millisecond, far: time.Millisecond}, {delay: 10 * time.Millisecond}}}},
		{party: party{name: "other", async: true}, results: []*result{slow, slow, slow}},
		{party: party{name: "lost"}, missing: errors.New("no compiler")},
	}
	require.Equal(t, `| process | CPU µs/sample | × floor | peak RSS MB | × floor | sent MB | × floor | raw MB | requests | p50 ms | × floor | p99 ms | × floor | samples/s | delivered % | retried |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| floor | 2.00 | 1.00 | 20 | 1.00 | 3.0 | 1.00 | 4.0 | 5 | 1.00 | 1.00 | 2.00 | 1.00 | 1000 | 100.00 | 0 |
| other * | 10.00 | 5.00 | 20 | 1.00 | 3.0 | 1.00 | 4.0 | 5 | 1.00 | 1.00 | 2.00 | 1.00 | 800 | 80.00 | 0 |
`, loadTable(rows))
	require.Equal(t, `| process | far end waits ms | p50 ms | p99 ms | far end p50 ms | p50 − far end ms |
|---|---:|---:|---:|---:|---:|
| floor | 0 | 3.00 | 4.00 | 1.00 | 2.00 |
| floor | 10 | 0.00 | 0.00 | 0.00 | 0.00 |
`, singleTable(rows))
	require.Equal(t, "- lost is left out: no compiler\n", missing(rows))
}
