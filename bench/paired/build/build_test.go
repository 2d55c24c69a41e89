package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/build"
)

// repository makes one with a module whose benchmark reports the given number,
// and returns a function that commits another.
func repository(t *testing.T) (root string, commit func(number string)) {
	t.Helper()
	root = t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{
			"-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null",
		}, args...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	file := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	git("init", "-q")
	file("go.mod", "module example.com/m\n\ngo 1.26\n")
	file("empty/empty.go", "package empty\n")
	require.NoError(t, os.Symlink("go.mod", filepath.Join(root, "link")))
	return root, func(number string) {
		file("bench/x_test.go", `package bench

import "testing"

func BenchmarkX(b *testing.B) { b.ReportMetric(`+number+`, "things") }
`)
		git("add", ".")
		git("commit", "-q", "-m", number)
	}
}

func run(t *testing.T, b build.Binary) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.Path, "-test.bench=.", "-test.benchtime=1x")
	cmd.Dir = b.Dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestBuild(t *testing.T) {
	root, commit := repository(t)
	commit("1111")
	commit("2222")
	out := t.TempDir()

	old, err := build.Revision(t.Context(), root, "HEAD~1", "./bench", out)
	require.NoError(t, err)
	require.Contains(t, run(t, old), "1111 things")
	link, err := os.Readlink(filepath.Join(filepath.Dir(old.Dir), "link"))
	require.NoError(t, err)
	require.Equal(t, "go.mod", link)

	tree, err := build.Tree(t.Context(), root, "./bench", out)
	require.NoError(t, err)
	require.Contains(t, run(t, tree), "2222 things")
	require.NotEqual(t, old.Commit, tree.Commit)

	// What is not committed yet is part of the tree, and its name says so.
	require.NoError(t, os.WriteFile(filepath.Join(root, "bench", "x_test.go"), []byte(`package bench

import "testing"

func BenchmarkX(b *testing.B) { b.ReportMetric(3333, "things") }
`), 0o644))
	dirty, err := build.Tree(t.Context(), root, "./bench", t.TempDir())
	require.NoError(t, err)
	require.Equal(t, tree.Commit+"-dirty", dirty.Commit)
	require.Contains(t, run(t, dirty), "3333 things")

	status := exec.CommandContext(t.Context(), "git", "status", "--porcelain")
	status.Dir = root
	changed, err := status.Output()
	require.NoError(t, err)
	require.Equal(t, "M bench/x_test.go", strings.TrimSpace(string(changed)), "the repository is left as it is")
}

// One revision built twice gives one binary: a paired run of a change that
// changes nothing compares equal bytes.
func TestBuildsAreEqual(t *testing.T) {
	root, commit := repository(t)
	commit("1111")
	out := t.TempDir()
	base, err := build.Revision(t.Context(), root, "HEAD", "./bench", out)
	require.NoError(t, err)
	tree, err := build.Tree(t.Context(), root, "./bench", out)
	require.NoError(t, err)
	require.Equal(t, base.Commit, tree.Commit)
	one, err := os.ReadFile(base.Path)
	require.NoError(t, err)
	two, err := os.ReadFile(tree.Path)
	require.NoError(t, err)
	require.Equal(t, one, two)
}

func TestBuildFaults(t *testing.T) {
	root, commit := repository(t)
	commit("1111")
	_, err := build.Revision(t.Context(), root, "no-such-revision", "./bench", t.TempDir())
	require.ErrorContains(t, err, "git rev-parse")
	_, err = build.Revision(t.Context(), root, "--help", "./bench", t.TempDir())
	require.ErrorContains(t, err, "git rev-parse")
	_, err = build.Tree(t.Context(), root, "./empty", t.TempDir())
	require.ErrorContains(t, err, "./empty of ")
	require.ErrorContains(t, err, "has no tests")
	_, err = build.Tree(t.Context(), root, "./nowhere", t.TempDir())
	require.ErrorContains(t, err, "building ./nowhere of ")
	_, err = build.Tree(t.Context(), t.TempDir(), "./bench", t.TempDir())
	require.ErrorContains(t, err, "git describe")
}
