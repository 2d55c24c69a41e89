package otlpgw_test

import (
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/otlpgw/otlpgw"

// rooms says which rooms of ours a room may import, directly or not. A pattern
// ending in /... stands for the package and everything below it. Every package
// of the module must have a line here: a new room is a decision.
var rooms = map[string][]string{
	"pool": {},

	"storage":             {},
	"storage/storagetest": {"storage", "pool"},
	"storage/remotewrite": {"storage", "pool"},
	"storage/local":       {"storage", "pool"},
	"storage/local/...":   {"storage", "pool"},
	"storage/direct":      {"storage", "storage/remotewrite", "pool"},

	"converter":               {"converter/...", "storage", "pool"},
	"converter/otlp":          {"pool"},
	"converter/otlp/...":      {"converter/otlp", "pool"},
	"converter/series":        {},
	"converter/convertertest": {"converter/...", "storage", "storage/storagetest", "pool"},

	"gateway":            {"converter/...", "storage", "pool"},
	"gateway/...":        {"gateway/...", "converter/...", "storage", "pool"},
	"cmd/otlpgw/config":  {},
	"cmd/otlpgw/explain": {"converter/...", "storage", "pool"},
	"cmd/otlpgw/...":     {"..."},
	"cmd/otlpgw":         {"..."},
	"cmd/otlpgw/e2e":     {"..."},
	"bench":              {"..."},
	"bench/load":         {"bench/load/...", "bench/paired/machine", "bench/paired/stat"},
	"bench/load/relay":   {},
	"bench/paired":       {"bench/paired/..."},
	"bench/paired/...":   {"bench/paired/..."},
	"bench/report":       {"bench/report/...", "bench/paired/..."},
	"bench/report/...":   {"bench/report/...", "bench/paired/..."},
}

// walls says what a package must not reach, over any number of steps, and why.
var walls = []struct {
	from string // as in rooms
	to   string // an import path; with /... everything below it too
	why  string
}{
	{"pool", "github.com/...", "memory management is usable everywhere because it needs nothing"},
	{"pool", "golang.org/...", "memory management is usable everywhere because it needs nothing"},
	{"pool", "google.golang.org/...", "memory management is usable everywhere because it needs nothing"},

	{"converter/otlp", "google.golang.org/protobuf/...", "the wire is read without building messages"},
	{"converter/...", "go.opentelemetry.io/collector/...", "the data path decodes by hand; pdata is the oracle of its tests"},
	{"converter/...", "google.golang.org/grpc/...", "meaning does not know transports"},
	{"converter/...", "github.com/prometheus/prometheus/tsdb", "conversion appends to an interface, not to a database"},
	{"converter/...", "github.com/prometheus/prometheus/promql", "conversion asks nothing"},
	{"converter/...", "github.com/prometheus/prometheus/storage/remote/...", "Prometheus's converter is the oracle, not the engine"},
	{"converter/...", "github.com/prometheus/prometheus/config", "rooms take Options; the config package drags service discovery in"},

	{"gateway", "go.opentelemetry.io/collector/...", "responses are a few bytes; messages are the converter's"},
	{"gateway", "github.com/prometheus/prometheus/config", "rooms take Options; the config package drags service discovery in"},
	{"gateway", "github.com/prometheus/prometheus/tsdb", "the gateway knows protocols, not metrics"},
	{"gateway", "github.com/prometheus/prometheus/promql", "queries are the local backend's, behind an http.Handler"},

	{"storage/direct", "github.com/prometheus/prometheus/tsdb", "a backend without a disk needs no database"},
	{"storage/remotewrite", "github.com/prometheus/prometheus/tsdb", "sending needs no database"},
	{"storage/remotewrite", "github.com/prometheus/prometheus/storage/remote/...", "its queue tails a WAL and loses what is older than the process; its decoder drags the whole converter in"},
	{"storage/direct", "github.com/prometheus/prometheus/config", "rooms take Options; the config package drags service discovery in"},
	{"storage/local", "github.com/prometheus/prometheus/web/...", "the query API is small and its own; see cmd/otlpgw"},
	{"storage/local", "github.com/prometheus/prometheus/storage/remote", "a database sends nothing"},

	{"bench", module + "/cmd/...", "what is measured are rooms, not a process"},

	{"cmd/otlpgw", "github.com/prometheus/prometheus/storage/remote", "see storage/remotewrite"},
	{"cmd/otlpgw", "github.com/prometheus/prometheus/storage/remote/otlptranslator/...", "Prometheus's converter is the oracle, not the engine"},
	{"cmd/otlpgw", "github.com/prometheus/prometheus/web/...", "NewAPI takes 45 positional parameters that change each release, and 18 MB"},
	{"cmd/otlpgw", "github.com/prometheus/prometheus/scrape/...", "otlpgw does not scrape"},
	{"cmd/otlpgw", "github.com/prometheus/prometheus/discovery/install/...", "service discovery plugins make a 78 MB binary"},
	{"cmd/otlpgw", "github.com/prometheus/prometheus/plugins/...", "service discovery plugins make a 78 MB binary"},
	{"gateway", "github.com/stretchr/...", "test libraries stay in tests; Prometheus's tsdb breaks that for storage/local"},
	{"converter/...", "github.com/stretchr/...", "test libraries stay in tests"},
	{"storage/direct", "github.com/stretchr/...", "test libraries stay in tests"},
	{"cmd/otlpgw", module + "/storage/storagetest/...", "test doubles stay in tests"},
	{"cmd/otlpgw", module + "/bench/...", "evidence is no part of the product"},
}

// matches reports whether pattern, relative to base, covers the import path.
func matches(pattern, importPath, base string) bool {
	if pattern == "..." {
		return importPath == base || strings.HasPrefix(importPath, base+"/")
	}
	if base != "" {
		pattern = base + "/" + pattern
	}
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return importPath == prefix || strings.HasPrefix(importPath, prefix+"/")
	}
	return importPath == pattern
}

// deps returns, for every package of the module, all that it reaches (its
// tests left out).
func deps(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...").Output()
	require.NoError(t, err)
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		all[f[0]] = f[1:]
	}
	return all
}

func TestArrows(t *testing.T) {
	all := deps(t)
	if len(all[module+"/cmd/otlpgw"]) == 0 {
		t.Fatal("go list does not know cmd/otlpgw")
	}

	t.Run("rooms", func(t *testing.T) {
		for pkg, reached := range all {
			if pkg == module {
				continue // this test
			}
			room := strings.TrimPrefix(pkg, module+"/")
			allowed, ok := allowedIn(room)
			if !ok {
				t.Errorf("%s has no line in the table of rooms", room)
				continue
			}
			for _, dep := range reached {
				if !strings.HasPrefix(dep, module+"/") {
					continue
				}
				if !slices.ContainsFunc(allowed, func(p string) bool { return matches(p, dep, module) }) {
					t.Errorf("%s reaches %s: only %v are its to import", room, strings.TrimPrefix(dep, module+"/"), allowed)
				}
			}
		}
	})

	t.Run("walls", func(t *testing.T) {
		used := make([]bool, len(walls))
		for pkg, reached := range all {
			for i, w := range walls {
				if strings.Contains(pkg, "/convertertest") || !matches(w.from, pkg, module) {
					continue
				}
				used[i] = true
				if at := slices.IndexFunc(reached, func(dep string) bool { return matches(w.to, dep, "") }); at >= 0 {
					t.Errorf("%s reaches %s: %s\n%s", pkg, reached[at], w.why, chain(all, pkg, reached[at]))
				}
			}
		}
		for i, ok := range used {
			if !ok {
				t.Errorf("no package matches %q: the wall stands nowhere", walls[i].from)
			}
		}
	})
}

// allowedIn finds the line of a room: its own, or that of the nearest room
// above that ends in /....
func allowedIn(room string) ([]string, bool) {
	if a, ok := rooms[room]; ok {
		return a, true
	}
	for up := path.Dir(room); up != "."; up = path.Dir(up) {
		if a, ok := rooms[up+"/..."]; ok {
			return a, true
		}
	}
	return nil, false
}

// chain names our packages through which from reaches to, as a hint.
func chain(all map[string][]string, from, to string) string {
	var via []string
	for _, d := range all[from] {
		if strings.HasPrefix(d, module+"/") && slices.Contains(all[d], to) {
			via = append(via, strings.TrimPrefix(d, module+"/"))
		}
	}
	if len(via) == 0 {
		return fmt.Sprintf("through none of our packages; go list -deps %s tells more", from)
	}
	return "through " + strings.Join(via, ", ")
}

// A test that finds nothing proves little, so the matching is tested too.
func TestArrowsPatterns(t *testing.T) {
	require.True(t, matches("storage", module+"/storage", module))
	require.False(t, matches("storage", module+"/storage/local", module))
	require.True(t, matches("converter/...", module+"/converter/otlp", module))
	require.True(t, matches("converter/...", module+"/converter", module))
	require.False(t, matches("converter/...", module+"/convertertest", module))
	require.True(t, matches("...", module+"/anything", module))
	require.True(t, matches("github.com/...", "github.com/x/y", ""))
	require.False(t, matches("github.com/x", "github.com/x/y", ""))
	_, ok := allowedIn("storage/cloud")
	require.False(t, ok)
	allowed, ok := allowedIn("gateway/raw/codec")
	require.True(t, ok)
	require.Equal(t, rooms["gateway/..."], allowed)
}
