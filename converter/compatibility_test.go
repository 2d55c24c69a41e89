package converter_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compatibility is docs/compatibility.md, cut up.
type compatibility struct {
	text     string
	sections map[string][][]string // rows of the tables below each heading
}

func readCompatibility(t *testing.T) compatibility {
	t.Helper()
	data, err := os.ReadFile("../docs/compatibility.md")
	require.NoError(t, err)
	c := compatibility{text: string(data), sections: make(map[string][][]string)}
	section, sub := "", ""
	for line := range strings.Lines(c.text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			section, sub = line[3:], ""
		case strings.HasPrefix(line, "### "):
			sub = line[4:]
		case strings.HasPrefix(line, "|"):
			var row []string
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				row = append(row, strings.TrimSpace(cell))
			}
			key := section
			if sub != "" {
				key += ": " + sub
			}
			c.sections[key] = append(c.sections[key], row)
		}
	}
	for key, rows := range c.sections {
		require.Greater(t, len(rows), 2, key)
		c.sections[key] = rows[2:] // Below the head and its line.
	}
	return c
}

var (
	storyName = regexp.MustCompile("`((?:ok|partial|reject|retry)_[A-Za-z0-9_]+)`")
	testName  = regexp.MustCompile("`([a-z0-9/_]+_test\\.go):(Test[A-Za-z0-9]+)`")
)

// The documentation names a story or a test for every rule, or says why there
// is none; every story and test that it names exists, and every story is named.
func TestCompatibilityNamesStories(t *testing.T) {
	c := readCompatibility(t)
	rules := 0
	for section, rows := range c.sections {
		if !strings.HasPrefix(section, "Rules: ") {
			continue
		}
		for _, row := range rows {
			rules++
			require.Len(t, row, 3, "%s: %s", section, row)
			if !storyName.MatchString(row[1]) && !testName.MatchString(row[1]) {
				require.NotEmpty(t, row[2], "%s: %q has neither a story nor a reason", section, row[0])
			}
			rest := testName.ReplaceAllString(storyName.ReplaceAllString(row[1], ""), "")
			require.Empty(t, strings.TrimSpace(rest), "%s: %q", section, row[0])
		}
	}
	require.Greater(t, rules, 80)

	named := make(map[string]bool)
	for _, m := range storyName.FindAllStringSubmatch(c.text, -1) {
		named[m[1]] = true
		require.FileExists(t, filepath.Join("testdata", m[1]+".txtar"))
	}
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		require.True(t, named[name], "docs/compatibility.md does not name the story %s", name)
	}
	for _, m := range testName.FindAllStringSubmatch(c.text, -1) {
		source, err := os.ReadFile(filepath.Join("..", m[1]))
		require.NoError(t, err)
		require.Contains(t, string(source), "\nfunc "+m[2]+"(t *testing.T)", m[1])
	}
}

// The documented differences from Prometheus's converter are the oracle's
// exceptions, and each follows a rule or is called a decision.
func TestCompatibilityListsExceptions(t *testing.T) {
	var want [][]string
	for _, x := range exceptions {
		want = append(want, []string{x.name, x.why})
		rule, _, ok := strings.Cut(x.why, ": ")
		require.True(t, ok, "%s names no rule", x.name)
		require.Regexp(t, `^(Decision|Compatibility spec, .+|Data model, .+|metrics\.proto, .+|Remote write [12]\.0|Native histogram spec)$`, rule, x.name)
	}
	require.Equal(t, want, readCompatibility(t).sections["Differences from Prometheus's own converter"])
}

// The names that are said to be the library's are those that stories show.
func TestCompatibilityNamesOfTheLibrary(t *testing.T) {
	rows := readCompatibility(t).sections["Names where the library stands instead of the spec"]
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Len(t, row, 4, "%s", row)
		story := storyName.FindStringSubmatch(row[3])
		require.NotNil(t, story, "%s", row)
		stored := string(readGolden(t, filepath.Join("testdata", story[1]+".txtar")).part("series"))
		require.Contains(t, stored, "\n"+strings.Trim(row[1], "`")+"{", "%s", row)
		require.NotContains(t, stored, "\n"+strings.Trim(row[2], "`")+"{", "%s", row)
	}
}
