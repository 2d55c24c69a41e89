package otlpgw_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each patch in testdata/mutations breaks one rule and names the test that has
// to notice:
//
//	# What is broken, in words.
//	# test: ./converter TestGolden/ok_units
//
// An ordinary run checks that every patch still applies; make test-mutations
// builds each with its patch and expects the named test to fail.
var mutate = flag.Bool("mutations", false, "run the mutations; make test-mutations does")

type mutation struct {
	file, pkg, test, patched string
	diff                     []byte
}

func readMutation(t *testing.T, path string) mutation {
	t.Helper()
	diff, err := os.ReadFile(path)
	require.NoError(t, err)
	m := mutation{diff: diff}
	for line := range strings.Lines(string(diff)) {
		switch f := strings.Fields(line); {
		case strings.HasPrefix(line, "# test: "):
			require.Len(t, f, 4, "want: # test: PACKAGE TEST")
			m.pkg, m.test = f[2], f[3]
		case strings.HasPrefix(line, "+++ b/"):
			require.Empty(t, m.file, "a mutation changes one file")
			m.file = strings.TrimPrefix(f[1], "b/")
		}
	}
	require.NotEmpty(t, m.test, "the patch names no test")
	require.NotEmpty(t, m.file, "the patch changes no file")
	require.True(t, strings.HasPrefix(string(diff), "# "), "the patch does not say what it breaks")

	original, err := os.ReadFile(m.file)
	require.NoError(t, err)
	dir := t.TempDir()
	m.patched = filepath.Join(dir, m.file)
	require.NoError(t, os.MkdirAll(filepath.Dir(m.patched), 0o755))
	require.NoError(t, os.WriteFile(m.patched, original, 0o644))
	apply := exec.Command("git", "apply", "--unidiff-zero", "--recount", "-")
	apply.Dir, apply.Stdin = dir, bytes.NewReader(diff)
	// Elsewhere git would look for a repository above.
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := apply.CombinedOutput()
	require.NoError(t, err, "the patch does not apply: %s", out)
	changed, err := os.ReadFile(m.patched)
	require.NoError(t, err)
	require.NotEqual(t, string(original), string(changed))
	return m
}

func TestMutations(t *testing.T) {
	paths, err := filepath.Glob("testdata/mutations/*.patch")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 20)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".patch"), func(t *testing.T) {
			m := readMutation(t, path)
			if *mutate {
				m.expectFailure(t)
			}
		})
	}
}

// expectFailure runs the named test on the broken code.
func (m *mutation) expectFailure(t *testing.T) {
	file, err := filepath.Abs(m.file)
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: m.patched}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(path, overlay, 0o644))

	var pattern []string
	for part := range strings.SplitSeq(m.test, "/") {
		pattern = append(pattern, "^"+part+"$")
	}
	cmd := exec.Command("go", "test", "-count=1", "-overlay", path, "-run", strings.Join(pattern, "/"), m.pkg)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s does not notice:\n%s", m.test, out)
	require.Contains(t, string(out), "--- FAIL: "+m.test, "it fails otherwise")
}
