package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

var (
	descName   = regexp.MustCompile(`fqName: "([^"]+)"`)
	descLabels = regexp.MustCompile(`variableLabels: \{([^}]*)\}`)
	constLabel = regexp.MustCompile(`constLabels: \{([^}]*)\}`)
	labelName  = regexp.MustCompile(`(\w+)="`)
	documented = regexp.MustCompile("(?m)^\\| `(otlpgw_[a-z0-9_]+)` \\|([^|]*)\\|")
)

// described adds our metrics in reg, with the labels that tell their series
// apart.
func described(all map[string]string, reg *prometheus.Registry) {
	ch := make(chan *prometheus.Desc)
	go func() {
		reg.Describe(ch)
		close(ch)
	}()
	for d := range ch {
		text := d.String()
		name := descName.FindStringSubmatch(text)[1]
		if !strings.HasPrefix(name, "otlpgw_") {
			continue
		}
		var labels []string
		for _, l := range strings.Split(descLabels.FindStringSubmatch(text)[1], ",") {
			if l != "" {
				labels = append(labels, "`"+strings.TrimSpace(l)+"`")
			}
		}
		for _, l := range labelName.FindAllStringSubmatch(constLabel.FindStringSubmatch(text)[1], -1) {
			labels = append(labels, "`"+l[1]+"`")
		}
		all[name] = strings.Join(labels, " ")
	}
}

// docs/metrics.md has every metric of ours with its labels, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	want := map[string]string{}
	for _, file := range []string{"", to(storagetest.NewFarEnd(t))} {
		r := serving(t, file)
		described(want, r.reg)
		described(want, r.behind.now.Load().reg)
		r.end()
	}
	b, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	got := map[string]string{}
	for _, m := range documented.FindAllStringSubmatch(string(b), -1) {
		require.NotContains(t, got, m[1], "twice")
		got[m[1]] = strings.TrimSpace(m[2])
	}
	require.Equal(t, want, got)
}

var promqlBlock = regexp.MustCompile("(?ms)^```promql\n(.*?)^```$")

// Each query of the README is one, and asks for metrics that there are,
// by labels that they have.
func TestDocumentedQueries(t *testing.T) {
	b, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	labels := map[string]string{}
	for _, m := range documented.FindAllStringSubmatch(string(b), -1) {
		labels[m[1]] = m[2]
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	queries := promqlBlock.FindAllStringSubmatch(string(readme), -1)
	require.Len(t, queries, 5)
	for _, q := range queries {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(q[1])
		require.NoError(t, err, q[1])
		asked := 0
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			s, ok := n.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			asked++
			name := strings.TrimSuffix(s.Name, "_bucket")
			require.Contains(t, labels, name)
			for _, m := range s.LabelMatchers {
				if m.Name != "__name__" {
					require.Contains(t, labels[name], "`"+m.Name+"`")
				}
			}
			return nil
		})
		require.NotZero(t, asked)
	}
}
