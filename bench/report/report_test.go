package main

import (
	"encoding/xml"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "renew the golden files")

// TestPage renders a small record. What it should look like is in
// testdata/golden, where a forge shows it.
func TestPage(t *testing.T) {
	r, err := load(filepath.Join("testdata", "run"))
	require.NoError(t, err)
	dir := t.TempDir()
	golden := filepath.Join("testdata", "golden")
	if *rewrite {
		require.NoError(t, os.RemoveAll(golden))
		require.NoError(t, os.MkdirAll(golden, 0o755))
		require.NoError(t, r.write(golden))
	}
	require.NoError(t, r.write(dir))
	got, want := files(t, dir), files(t, golden)
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for name := range want {
		require.Equal(t, want[name], got[name], name)
		if strings.HasSuffix(name, ".svg") {
			require.Contains(t, got["README.md"], "]("+name+")", "a picture that nobody sees")
		}
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		texts[e.Name()] = string(b)
	}
	return texts
}

// Every picture can be parsed, and says where its numbers come from.
func TestPictures(t *testing.T) {
	r, err := load(filepath.Join("testdata", "run"))
	require.NoError(t, err)
	pictures := r.draw()
	var names []string
	for _, p := range pictures {
		names = append(names, p.file)
		d := xml.NewDecoder(strings.NewReader(string(p.text)))
		text := ""
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err, p.file)
			if c, ok := token.(xml.CharData); ok {
				text += string(c) + "\n"
			}
		}
		for _, want := range []string{p.title, "Some CPU", "commit 0123456789ab", "2026-12-01", "go test "} {
			require.Contains(t, text, want, p.file)
		}
	}
	require.Equal(t, []string{
		"throughput.svg", "bytes.svg", "throughput-peers.svg", "bytes-peers.svg", "growth.svg", "scaling.svg",
	}, names, "cold.svg is left out, since it was not measured")
	require.NotContains(t, string(pictures[0].text), "sdk-bare", "the variants would crowd the picture")
	require.NotContains(t, string(pictures[4].text), "otlpgw-10k", "it is the measure, and no party")
	require.Empty(t, (&record{}).draw())
	require.Empty(t, (&record{Steps: []step{{Name: "bench", families: []*family{{name: "BenchmarkGrowth", rows: []*row{{name: "x"}}}}}}}).draw())
}

func TestNumber(t *testing.T) {
	for name, want := range map[string]float64{"10000": 1e4, "sdk/100k": 1e5, "series=1M": 1e6, "x-7": 7} {
		got, ok := number(name)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, name := range []string{"", "sdk", "10000/sdk", "0"} {
		_, ok := number(name)
		require.False(t, ok, name)
	}
}

func TestDocs(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x_test.go"), []byte(`package x

// BenchmarkX does this
// and that.
func BenchmarkX(b *testing.B) {}

func BenchmarkSilent(b *testing.B) {}

// BenchmarkMethod is no benchmark.
func (x) BenchmarkMethod() {}
`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.go"), []byte("broken"), 0o644))
	got, err := docs(dir, filepath.Join(dir, "nowhere"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{filepath.ToSlash(dir) + ".BenchmarkX": "BenchmarkX does this\nand that."}, got)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "y_test.go"), []byte("broken"), 0o644))
	_, err = docs(dir)
	require.Error(t, err)
}

// The requirements name benchmarks of this repository: one that is renamed
// would be left out of the page in silence.
func TestAskedAreMeasured(t *testing.T) {
	comments, err := docs("..", filepath.Join("..", "peers"))
	require.NoError(t, err)
	known := map[string]bool{}
	for key := range comments {
		known[key[strings.LastIndexByte(key, '.')+1:]] = true
	}
	for _, a := range asked {
		require.Contains(t, known, a.family)
	}
	for _, p := range pictures {
		require.Contains(t, known, p.family)
	}
	require.Contains(t, known, "BenchmarkReference")
	for _, g := range groups {
		for _, name := range g.benchmarks {
			require.Contains(t, known, "Benchmark"+name, "the plan names it")
		}
	}
}

func TestRequirementsMet(t *testing.T) {
	r := &record{Steps: []step{{Name: "bench", families: []*family{{name: "BenchmarkRatio", rows: []*row{
		{name: "sdk", procs: 1, values: map[string][]float64{"x-prometheus": {26, 24, 27}}},
		{name: "batch", procs: 1, values: map[string][]float64{"x-prometheus": {11, 11.5, 12.5}}},
		{name: "small", procs: 1, values: map[string][]float64{"x-prometheus": {7, 8, 9}}},
		{name: "small", procs: 4, values: map[string][]float64{"x-prometheus": {1}}},
	}}}}}}
	got, err := r.requirements()
	require.NoError(t, err)
	var met []string
	for _, row := range got.rows {
		met = append(met, row[1]+" "+row[len(row)-1])
	}
	require.Equal(t, []string{
		"≥ 25.0× yes, but not in 1 of 3 runs", "≥ 12.0× no, but in 1 of 3 runs", "≥ 6.00× yes",
	}, met)
}
