package explain

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// story is the first request of a golden file of the converter, see
// converter/testdata.
type story struct {
	name    string
	opts    converter.Options
	request *colmetricspb.ExportMetricsServiceRequest
	series  string
	points  int
	reject  int
}

// stories returns those that a file alone can tell: without a sender's address,
// a store that fails, or a limit on age.
func stories(t *testing.T) (all []story) {
	t.Helper()
	paths, err := filepath.Glob("../../../converter/testdata/*.txtar")
	require.NoError(t, err)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		parts := map[string]string{}
		for _, f := range archive.Files {
			parts[f.Name] = string(f.Data)
		}
		s := story{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), series: parts["series"]}
		s.opts = readOptions(t, parts["options"], parts["clock"])
		if text, ok := parts["request"]; ok {
			s.request, err = convertertest.Request(text)
		} else {
			s.request, err = convertertest.Metrics(parts["metrics"])
		}
		require.NoError(t, err, path)
		for line := range strings.Lines(parts["report"]) {
			_, _ = fmt.Sscanf(line, "points %d", &s.points)
			_, _ = fmt.Sscanf(line, "rejected %d", &s.reject)
		}
		if parts["peer"] != "" || parts["commit"] != "" || s.opts.Limits.MaxSampleAge != 0 {
			continue
		}
		all = append(all, s)
	}
	require.Greater(t, len(all), 80, "of %d files", len(paths))
	return all
}

// readOptions reads the settings that golden files write.
func readOptions(t *testing.T, text, clock string) converter.Options {
	t.Helper()
	on := true
	s := struct {
		Strategy              otlptranslator.TranslationStrategyOption
		Namespace             string
		Promote               []string
		PromoteAll            bool `yaml:"promote_all"`
		Ignore                []string
		KeepIdentifying       bool  `yaml:"keep_identifying"`
		ScopeLabels           *bool `yaml:"scope_labels"`
		TargetInfo            *bool `yaml:"target_info"`
		KeepLeadingUnderscore bool  `yaml:"keep_leading_underscore"`
		CollapseUnderscores   bool  `yaml:"collapse_underscores"`
		TypeAndUnit           bool  `yaml:"type_and_unit"`
		NHCB                  bool
		LEFormat              string            `yaml:"le_format"`
		InstanceFrom          []string          `yaml:"instance_from"`
		Relabel               []*relabel.Config `yaml:"metric_relabel_configs"`
		Limits                map[string]string
		NeedsMemory           bool `yaml:"needs_memory"`
		Once                  bool
		Now                   int64
	}{ScopeLabels: &on, TargetInfo: &on, Now: time.Hour.Milliseconds()}
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if strings.TrimSpace(text) != "" {
		require.NoError(t, d.Decode(&s))
	}
	if clock != "" {
		_, err := fmt.Sscan(clock, &s.Now)
		require.NoError(t, err)
	}
	for _, r := range s.Relabel {
		require.NoError(t, r.Validate(model.UTF8Validation))
	}
	return converter.Options{
		Now:   func() time.Time { return time.UnixMilli(s.Now) },
		Names: converter.NameOptions{Strategy: s.Strategy, Namespace: s.Namespace},
		Labels: converter.LabelOptions{
			PromoteResourceAttributes: s.Promote, PromoteAllResourceAttributes: s.PromoteAll, IgnoreResourceAttributes: s.Ignore,
			KeepIdentifyingResourceAttributes: s.KeepIdentifying, DisableScopeMetadata: !*s.ScopeLabels,
			KeepLeadingUnderscore: s.KeepLeadingUnderscore, CollapseUnderscores: s.CollapseUnderscores, TypeAndUnit: s.TypeAndUnit,
		},
		NHCB: s.NHCB, DisableTargetInfo: !*s.TargetInfo, OpenMetricsLE: s.LEFormat == "openmetrics",
		Relabel: s.Relabel, InstanceFrom: s.InstanceFrom, Limits: readLimits(t, s.Limits),
	}
}

func readLimits(t *testing.T, text map[string]string) (l converter.Limits) {
	t.Helper()
	for key, v := range text {
		to, ok := map[string]any{
			"max_future": &l.MaxFuture, "max_sample_age": &l.MaxSampleAge, "reject_late": &l.RejectLate,
			"max_label_names_per_series": &l.MaxLabelNames, "max_label_name_length": &l.MaxLabelNameLength,
			"max_label_value_length": &l.MaxLabelValueLength, "max_series_per_metric": &l.MaxSeriesPerMetric,
			"max_active_series": &l.MaxActiveSeries, "max_exemplars_per_series": &l.MaxExemplarsPerSeries,
			"max_exemplars_per_request": &l.MaxExemplarsPerRequest,
		}[key]
		require.True(t, ok, key)
		require.NoError(t, yaml.Unmarshal([]byte(v), to), key)
	}
	return l
}

// asStored returns samples as golden files have them.
func asStored(samples []Sample) string {
	out := make([]storagetest.Sample, len(samples))
	for i, s := range samples {
		out[i] = storagetest.Sample{
			Labels: s.Labels, T: s.Ms, ST: s.StartMs, V: s.Value, H: s.Histogram, Exemplars: s.Exemplars, Metadata: s.Metadata,
		}
	}
	storagetest.Sort(out)
	return storagetest.Text(out)
}

// The converter's golden requests, in every encoding, are explained as what
// the golden files say a store gets.
func TestGoldenRequests(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			for _, e := range convertertest.Encodings(1) {
				body, err := e.Encode(s.request)
				require.NoError(t, err)
				p, err := Open(gzipped(t, body), 1<<20)
				require.NoError(t, err)
				require.Equal(t, e.JSON, p.JSON)
				r, err := Run(t.Context(), s.opts, p)
				require.NoError(t, err)
				if diff := cmp.Diff(s.series, asStored(r.Samples)); diff != "" {
					t.Errorf("%s: series (-want +got):\n%s", e.Name, diff)
				}
				require.Equal(t, s.points, r.Report.Points)
				require.Equal(t, s.reject, r.Report.Rejected)

				var text bytes.Buffer
				require.NoError(t, r.WriteText(&text))
				require.Equal(t, s.reject, strings.Count("\n"+text.String(), "\nREJECTED "), "%s", &text)
				require.Contains(t, text.String(), fmt.Sprintf("REPORT points=%d rejected=%d", s.points, s.reject))
			}
		})
	}
}

// Every name and label that a golden request becomes is among the names that
// are compared, on both sides.
func TestCompareFindsEveryName(t *testing.T) {
	after := otlptranslator.NoTranslation
	for _, s := range stories(t) {
		if s.opts.Relabel != nil || len(s.series) == 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			before := s.opts.Names.Strategy
			if before == "" {
				before = otlptranslator.UnderscoreEscapingWithSuffixes
			}
			p := Payload{Body: convertertest.Descending(s.request)}
			n, err := Compare(t.Context(), s.opts, p, before, after)
			require.NoError(t, err)
			olds, news := namesAndLabels(n)
			for _, side := range []struct {
				strategy otlptranslator.TranslationStrategyOption
				found    map[string]bool
			}{{before, olds}, {after, news}} {
				strategy, found := side.strategy, side.found
				o := s.opts
				o.Names.Strategy = strategy
				r, err := Run(t.Context(), o, p)
				require.NoError(t, err)
				for _, x := range r.Samples {
					x.Labels.Range(func(l labels.Label) {
						switch name := l.Name; {
						case name == model.MetricNameLabel:
							require.True(t, found[l.Value], "%s: %s", strategy, l.Value)
						case name == "job" || name == "instance" || name == "le" || name == "quantile" || name == "__type__" || name == "__unit__":
						case name == "otel_scope_name" || name == "otel_scope_version" || name == "otel_scope_schema_url":
						default:
							require.True(t, found["label "+name], "%s: label %s of %s", strategy, name, x.Labels)
						}
					})
				}
			}
		})
	}
}

func namesAndLabels(n *Names) (olds, news map[string]bool) {
	olds, news = map[string]bool{}, map[string]bool{}
	for _, m := range n.Metrics {
		for _, c := range m.Names {
			olds[c.Old], news[c.New] = true, true
		}
		for _, c := range m.Labels {
			olds["label "+c.Old], news["label "+c.New] = true, true
		}
	}
	return olds, news
}
