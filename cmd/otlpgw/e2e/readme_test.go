package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns the fenced blocks of one language in a Markdown file.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	var out []string
	for _, m := range fence.FindAllStringSubmatch(string(b), -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	require.NotEmpty(t, out, "%s has no %s blocks", file, language)
	return out
}

// exchange is a command of a console block and what it prints.
type exchange struct{ command, output string }

// console splits a block at its prompts. A command goes on for as long as a
// quote is open.
func console(block string) (out []exchange) {
	open := false
	for line := range strings.Lines(block) {
		last := len(out) - 1
		switch {
		case !open && strings.HasPrefix(line, "$ "):
			out = append(out, exchange{command: line[2:]})
			open = strings.Count(line, "'")%2 == 1
		case open:
			out[last].command += line
			open = strings.Count(line, "'")%2 == 0
		default:
			out[last].output += line
		}
	}
	return out
}

var timestamp = regexp.MustCompile(`\b\d{10}(\.\d+)?\b`)

// The commands of the README, on the ports of this test, print what the README
// says they print.
func TestReadmeCommands(t *testing.T) {
	p := start(t)
	moved := strings.NewReplacer("localhost:4318", p.http, "localhost:4317", p.grpc, "localhost:9465", p.admin)
	ran := 0
	for _, block := range blocks(t, "README.md", "console") {
		for _, e := range console(block) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", moved.Replace(e.command))
			cmd.Env = append(os.Environ(), "PATH="+curlDir(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", e.command, out)
			want := timestamp.ReplaceAllString(strings.TrimSpace(e.output), "TIME")
			got := timestamp.ReplaceAllString(strings.TrimSpace(string(out)), "TIME")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nprints something else (-README +now):\n%s", e.command, diff)
			}
			ran++
		}
	}
	require.Equal(t, 2, ran, "one curl and one query")
	p.stop(t)
}

// The commands of docs/explain.md print what it says they print.
func TestExplainDocumentation(t *testing.T) {
	path, err := binary()
	require.NoError(t, err)
	work := t.TempDir()
	const file = "docs/explain.md"
	require.NoError(t, os.WriteFile(filepath.Join(work, "request.json"), []byte(blocks(t, file, "json")[0]), 0o600))
	ran := 0
	for _, block := range blocks(t, file, "console") {
		for _, e := range console(block) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", e.command)
			cmd.Dir = work
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", e.command, out)
			if diff := cmp.Diff(strings.TrimSpace(e.output), strings.TrimSpace(string(out))); diff != "" {
				t.Errorf("%s\nprints something else (-documentation +now):\n%s", e.command, diff)
			}
			ran++
		}
	}
	require.Equal(t, 2, ran)
}

// What the README says to run exists.
func TestReadmeNamesRealTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	var named []string
	for _, block := range blocks(t, "README.md", "sh") {
		for _, m := range regexp.MustCompile(`(?m)^make (\w+)`).FindAllStringSubmatch(block, -1) {
			require.Contains(t, string(makefile), "\n"+m[1]+":")
			named = append(named, m[1])
		}
	}
	require.Equal(t, []string{"run", "test"}, named)
}

// The YAML of the documentation is a valid configuration.
func TestDocumentedConfigurationLoads(t *testing.T) {
	path, err := binary()
	require.NoError(t, err)
	for _, file := range []string{"README.md", "docs/configuration.md"} {
		for _, block := range blocks(t, file, "yaml") {
			name := filepath.Join(t.TempDir(), "otlpgw.yaml")
			require.NoError(t, os.WriteFile(name, []byte(block), 0o600))
			out, err := exec.Command(path, "check-config", name).CombinedOutput()
			require.NoError(t, err, "%s: %s", file, out)
			require.NotContains(t, string(out), "not honoured", file)
		}
	}
}

// The configuration page shows what the documentation calls the defaults.
func TestDocumentedDefaultsAreTheDefaults(t *testing.T) {
	name := filepath.Join(t.TempDir(), "otlpgw.yaml")
	require.NoError(t, os.WriteFile(name, []byte(blocks(t, "docs/configuration.md", "yaml")[0]), 0o600))
	documented, plain := start(t, "--config.file="+name), start(t)
	_, with := get(t, documented.url("/-/config"))
	_, without := get(t, plain.url("/-/config"))
	for _, p := range []*process{documented, plain} {
		for _, addr := range []string{p.http, p.grpc, p.admin} {
			_, _, err := net.SplitHostPort(addr)
			require.NoError(t, err)
		}
		p.stop(t)
	}
	require.Equal(t, without, with)
}
