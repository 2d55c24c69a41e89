package gobench_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/gobench"
)

const output = `goos: linux
goarch: amd64
pkg: example.com/bench
cpu: Intel(R) Xeon(R) Processor
BenchmarkHandler/sdk/otlpgw         	     100	     12345 ns/op	  17.50 MB/s	       3.1e+07 samples/s	      64 B/op	       2 allocs/op
BenchmarkHandler/sdk/otlpgw-4       	     400	      3086 ns/op
BenchmarkLogs-2
    bench_test.go:17: a line of a log
    12 more lines of a log
BenchmarkMixed-2                    	2026/12/01 a log without a newline before it
     300	      41.00 x-prometheus
BenchmarkSkipped-2      	       0	               NaN ns/op
PASS
ok  	example.com/bench	1.234s
pkg: example.com/peers
Benchmarking is what this line is about 3 1 ns/op
BenchmarkPeer#01-16 	 1 	 1 ns/op
ok  	example.com/peers	1.234s
`

func TestParse(t *testing.T) {
	got, err := gobench.Parse(strings.NewReader(output))
	require.NoError(t, err)
	require.Equal(t, []gobench.Result{
		{
			Name: "BenchmarkHandler/sdk/otlpgw", Procs: 1, Iterations: 100, Package: "example.com/bench",
			Values: []gobench.Value{{"ns/op", 12345}, {"MB/s", 17.5}, {"samples/s", 31e6}, {"B/op", 64}, {"allocs/op", 2}},
		},
		{
			Name: "BenchmarkHandler/sdk/otlpgw", Procs: 4, Iterations: 400, Package: "example.com/bench",
			Values: []gobench.Value{{"ns/op", 3086}},
		},
		{
			Name: "BenchmarkMixed", Procs: 2, Iterations: 300, Package: "example.com/bench",
			Values: []gobench.Value{{"x-prometheus", 41}},
		},
		{
			Name: "BenchmarkPeer#01", Procs: 16, Iterations: 1, Package: "example.com/peers",
			Values: []gobench.Value{{"ns/op", 1}},
		},
	}, got)

	v, ok := got[0].Get("B/op")
	require.True(t, ok)
	require.Equal(t, 64.0, v)
	_, ok = got[0].Get("B/s")
	require.False(t, ok)
}

// What the testing package of this Go prints is read, too.
func TestParseOwnOutput(t *testing.T) {
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			b.SetBytes(1)
		}
		b.ReportMetric(3, "x-prometheus")
	})
	got, err := gobench.Parse(strings.NewReader("BenchmarkOwn-8\t" + r.String() + "\t" + r.MemString() + "\n"))
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, r.N, got[0].Iterations)
	v, ok := got[0].Get("x-prometheus")
	require.True(t, ok)
	require.Equal(t, 3.0, v)
	v, ok = got[0].Get("allocs/op")
	require.True(t, ok)
	require.Zero(t, v)
}

func TestParseFaults(t *testing.T) {
	for name, tc := range map[string]struct{ in, err string }{
		"failed":         {"BenchmarkX 1 1 ns/op\n--- FAIL: BenchmarkX\n", "line 2: the benchmarks failed: --- FAIL: BenchmarkX"},
		"failed part":    {"    --- FAIL: BenchmarkX/y\n", "the benchmarks failed"},
		"package failed": {"FAIL\texample.com/x\t0.1s\n", "the benchmarks failed"},
		"panicked":       {"panic: no\n", "line 1: the benchmarks failed: panic: no"},
		"run-time fault": {"fatal error: concurrent map writes\n", "the benchmarks failed"},
		"torn":           {"BenchmarkX 1 1 ns/op 3\n", "line 1: BenchmarkX: \"1 ns/op 3\" is no list of values and units"},
		"no number":      {"BenchmarkX 1 one ns/op\n", "\"one\" is no number of ns/op"},
		"NaN":            {"BenchmarkX 1 NaN ns/op\n", "\"NaN\" is no number of ns/op"},
		"infinite":       {"BenchmarkX 1 +Inf x\n", "\"+Inf\" is no number of x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gobench.Parse(strings.NewReader(tc.in))
			require.ErrorContains(t, err, tc.err)
		})
	}
}

func TestParseNames(t *testing.T) {
	for in, want := range map[string]gobench.Result{
		"BenchmarkX":      {Name: "BenchmarkX", Procs: 1},
		"BenchmarkX-4":    {Name: "BenchmarkX", Procs: 4},
		"BenchmarkX/a-b":  {Name: "BenchmarkX/a-b", Procs: 1},
		"BenchmarkX/a-04": {Name: "BenchmarkX/a-04", Procs: 1},
		"BenchmarkX/a-0":  {Name: "BenchmarkX/a-0", Procs: 1},
		"BenchmarkX/a-1":  {Name: "BenchmarkX/a-1", Procs: 1},
		"BenchmarkX/-":    {Name: "BenchmarkX/-", Procs: 1},
	} {
		got, err := gobench.Parse(strings.NewReader(in + " 7 1 ns/op\n"))
		require.NoError(t, err)
		want.Iterations, want.Values = 7, []gobench.Value{{"ns/op", 1}}
		require.Equal(t, []gobench.Result{want}, got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(output)
	f.Fuzz(func(t *testing.T, in string) {
		results, _ := gobench.Parse(strings.NewReader(in))
		for _, r := range results {
			if !strings.HasPrefix(r.Name, "Benchmark") || r.Procs < 1 || len(r.Values) == 0 {
				t.Fatalf("read %+v", r)
			}
		}
	})
}
