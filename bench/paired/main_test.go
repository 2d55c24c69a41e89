package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/trial"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

func TestParse(t *testing.T) {
	var stderr strings.Builder
	c, err := parse([]string{
		"-base", "v1.0.0", "-bench", "X", "-pairs=12", "-cpu=4", "-require", "ns/op<=-5%", "-require", "allocs/op<=-5",
		"-candidate-env", "GOGC=50", "-candidate-env", "A=b", "-confidence=99", "-seed=7",
	}, &stderr)
	require.NoError(t, err)
	require.Empty(t, stderr.String())
	require.Equal(t, "v1.0.0", c.base)
	require.Equal(t, prometheus, c.Control, "the control group of two builds")
	require.Equal(t, trial.Options{
		Candidate: trial.Side{Env: []string{"GOGC=50", "A=b"}},
		Bench:     "X", Control: prometheus, Pairs: 12, Procs: 4, Benchtime: "1s", Seed: 7,
		Requirements: []verdict.Requirement{
			{Unit: "ns/op", Op: "<=", Limit: -0.05, Relative: true}, {Unit: "allocs/op", Op: "<=", Limit: -5},
		},
		MaxRegression: 0.03, ControlTolerance: 0.01, Confidence: 0.99,
	}, c.Options)

	c, err = parse(nil, &stderr)
	require.NoError(t, err)
	require.Empty(t, c.Control, "two configurations of one build have the control group that is asked for")
	c, err = parse([]string{"-base=HEAD", "-control=none"}, &stderr)
	require.NoError(t, err)
	require.Empty(t, c.Control)
}

func TestParseFaults(t *testing.T) {
	for args, want := range map[string]string{
		"-base=":                 "-base is empty",
		"x":                      `"x" is no flag`,
		"-pairs=0":               "count from 1",
		"-cpu=0":                 "count from 1",
		"-max-regression=0":      "more than 0 %",
		"-control-tolerance=-1":  "more than 0 %",
		"-confidence=100":        "between 0 and 100 %",
		"-require=fast":          "is not of the form",
		"-candidate-env=A":       "not of the form KEY=value",
		"-baseline-env==b":       "not of the form KEY=value",
		"-no-such-flag":          "flag provided but not defined",
		"-base=HEAD -pkg=./none": "", // only known later
	} {
		var stderr strings.Builder
		_, err := parse(strings.Fields(args), &stderr)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, args)
		require.Contains(t, stderr.String(), want)
	}
}

// module makes a repository in which the benchmark X has been changed from
// six allocations to one since HEAD~1, and goes there.
func module(t *testing.T) {
	t.Helper()
	root := t.TempDir()
	t.Chdir(root)
	git := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{
			"-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null",
		}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.Mkdir("bench", 0o755))
	require.NoError(t, os.WriteFile("go.mod", []byte("module example.com/m\n\ngo 1.26\n"), 0o644))
	git("init", "-q")
	for _, n := range []string{"6", "1"} {
		require.NoError(t, os.WriteFile(filepath.Join("bench", "x_test.go"), []byte(`package bench

import "testing"

var sink []byte

func allocate(b *testing.B, n int) {
	for range b.N {
		for range n {
			sink = make([]byte, 512)
		}
	}
}

func BenchmarkX(b *testing.B) { allocate(b, `+n+`) }

func BenchmarkHandler(b *testing.B) {
	b.Run("sdk/prometheus", func(b *testing.B) { allocate(b, 3) })
}
`), 0o644))
		git("add", ".")
		git("commit", "-q", "-m", n)
	}
}

// The whole command, between two revisions. The limits of what is timed are so
// wide that only allocations decide.
func TestCommand(t *testing.T) {
	module(t)
	file := filepath.Join(t.TempDir(), "result.json")
	common := []string{
		"-base=HEAD~1", "-bench=^BenchmarkX$", "-pairs=6", "-benchtime=500x",
		"-max-regression=1e12", "-control-tolerance=1e12", "-json=" + file,
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-require=allocs/op<=-5"}, 0, "verdict: PASSED"},
		{[]string{"-require=allocs/op<=-6"}, 1, "verdict: FAILED"},
		{[]string{"-require=allocs/op<=-5", "-pairs=5"}, 3, "verdict: NOT RESOLVED (5 pairs are too few"},
		{[]string{"-base=HEAD", "-require=allocs/op<0"}, 1, "verdict: FAILED"},
		{[]string{"-base=nowhere"}, 2, "paired: git rev-parse"},
		{[]string{"-pkg=./none"}, 2, "paired: building ./none"},
		{[]string{"-json=/nowhere/x.json"}, 2, "paired: open /nowhere/x.json"},
		{[]string{"-pairs=none"}, 2, "invalid value"},
		{[]string{"-help"}, 0, "-require requirement"},
	} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), append(append([]string{}, common...), tc.args...), &stdout, &stderr)
		require.Equal(t, tc.code, code, "%v: %s%s", tc.args, stdout.String(), stderr.String())
		require.Contains(t, stdout.String()+stderr.String(), tc.want)
		if code == 0 && tc.args[0] != "-help" {
			require.Contains(t, stdout.String(), "control: BenchmarkHandler/sdk/prometheus")
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			var r trial.Result
			require.NoError(t, json.Unmarshal(b, &r))
			require.Equal(t, verdict.Passed, r.Verdict)
			require.Len(t, r.Rows[0].Samples, 6)
		}
	}
}
