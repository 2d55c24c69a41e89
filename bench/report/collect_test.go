package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	p := plan{count: 5, benchtime: "1s", pairs: 10, serial: "S/{built,pooled}", parallel: "P/{built,pooled}"}
	steps := p.steps()
	commands := map[string]string{}
	for _, s := range steps {
		commands[s.Name] = s.Command
		require.NotEmpty(t, s.Title)
	}
	require.Equal(t, "go test ./bench -run '^$' -bench '^Benchmark(Handler|Shared|Scaling)$' -cpu 1,2,4 -count 5 -benchtime 1s -timeout 0", commands["processors"])
	require.Equal(t, "go test -C bench/peers -run '^$' -bench . -cpu 1 -count 5 -benchtime 1s -timeout 0", commands["peers"])
	require.Contains(t, commands["reference-serial"], "-cpu 1 -bench 'S/{built,pooled}'")
	require.Contains(t, commands["reference-parallel"], "-cpu 4 -bench 'P/{built,pooled}'")
	require.Contains(t, commands["no-op"], "-pairs 10")
	require.Contains(t, commands["no-op"], "-base HEAD")
	require.NotContains(t, commands["growth"], "1000000")
	require.Contains(t, commands["memory"], "'^Benchmark(Memory)$'")
	require.Contains(t, commands["stages"], "-bench . -skip '^Benchmark(Reference|Ratio|RatioConvert|Convert|Cold|Churn|Growth|Memory|Handler|Shared|Scaling|EndToEnd)$' -cpu 1 ")

	p.quick = true
	commands = map[string]string{}
	for _, s := range p.steps() {
		commands[s.Name] = s.Command
	}
	require.Contains(t, commands["growth"], "-skip /1000000")
	require.Contains(t, commands["stages"], "|Memory|")
	require.NotContains(t, commands, "memory")
}

func TestChoose(t *testing.T) {
	steps := plan{}.steps()
	for names, want := range map[string]int{"": len(steps), "none": 0, "no-op,warm": 2} {
		got, err := choose(steps, names)
		require.NoError(t, err)
		require.Len(t, got, want)
	}
	_, err := choose(steps, "warm,nothing")
	require.ErrorContains(t, err, `no step is named "nothing"`)
}

// script is a step that a shell plays; a paired one finds the name of its
// result in $2.
func script(name, text string, paired bool) planned {
	s := planned{step: step{Name: name, Title: "A " + name, Command: "script"}, args: []string{"sh", "-c", text, "sh"}, paired: paired}
	return s
}

func collected(t *testing.T, dir string, quick bool, steps ...planned) error {
	t.Helper()
	var stderr strings.Builder
	err := collect(t.Context(), steps, dir, quick, &stderr)
	t.Log(stderr.String())
	return err
}

func page(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	return string(b)
}

// Steps are run in turn, each leaves a report of what there is, and one can be
// run again by itself.
func TestCollect(t *testing.T) {
	run, err := filepath.Abs(filepath.Join("testdata", "run"))
	require.NoError(t, err)
	root := t.TempDir()
	t.Chdir(root)
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "x"},
	} {
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	dir := filepath.Join(root, "out")
	bench := script("bench", "cat '"+run+"/warm.txt'", false)
	noop := script("no-op", "cp '"+run+"/no-op.json' \"$2\"; echo text; exit 3", true)

	require.NoError(t, collected(t, dir, false, bench, noop))
	got := page(t, dir)
	require.Contains(t, got, "## A bench")
	require.Contains(t, got, "Verdict: **NOT RESOLVED**")
	require.NotContains(t, got, "quick run")

	missing := bench
	missing.Name, missing.needs = "missing", filepath.Join(root, "nowhere")
	require.NoError(t, collected(t, dir, false, missing))
	require.NotContains(t, page(t, dir), "missing")

	// A step that fails leaves what there was.
	err = collected(t, dir, false, script("bench", "echo; exit 1", false), noop)
	require.ErrorContains(t, err, "bench: exit status 1 (what was run before is in")
	require.ErrorContains(t, err, "-steps bench,no-op goes on")
	err = collected(t, dir, false, script("bench", "cat '"+run+"/warm.txt'; echo '--- FAIL: BenchmarkX'", false))
	require.ErrorContains(t, err, "the benchmarks failed")
	err = collected(t, dir, false, script("no-op", "exit 2", true))
	require.ErrorContains(t, err, "exit status 2")

	// Again, with another output.
	require.NoError(t, collected(t, dir, false,
		script("no-op", "cp '"+run+"/reference-serial.json' \"$2\"", true),
		script("bench", "echo 'BenchmarkOther 1 1 ns/op'", false)))
	got = page(t, dir)
	require.Contains(t, got, "### Other")
	require.NotContains(t, got, "### Ratio")
	require.Equal(t, 1, strings.Count(got, "## A bench"))

	// Only the pages.
	require.NoError(t, os.Remove(filepath.Join(dir, "README.md")))
	require.NoError(t, collected(t, dir, false))
	require.Equal(t, got, page(t, dir))

	require.ErrorContains(t, collected(t, dir, true, bench), "does not belong there")
	require.NoError(t, collected(t, filepath.Join(root, "quick"), true, bench))
	require.Contains(t, page(t, filepath.Join(root, "quick")), "A quick run")

	require.NoError(t, collected(t, "", false, bench))
	made, err := filepath.Glob("bench/results/*-*/README.md")
	require.NoError(t, err)
	require.Len(t, made, 1)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, collect(cancelled, []planned{bench}, dir, false, &strings.Builder{}))
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"x":              `"x" is no flag`,
		"-steps=nothing": `no step is named "nothing"`,
		"-nothing":       "flag provided but not defined",
	} {
		require.ErrorContains(t, run(t.Context(), []string{args}, &strings.Builder{}), want)
	}
}

func TestShell(t *testing.T) {
	require.Equal(t, "go test ./bench -run '^$' '' 'a b' -x=1", shell([]string{"go", "test", "./bench", "-run", "^$", "", "a b", "-x=1"}))
}
