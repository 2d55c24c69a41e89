package converter_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote/otlptranslator/prometheusremotewrite"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

var (
	oracleWorlds   = flag.Int("oracle.worlds", 60, "how many worlds of senders the oracle compares")
	oracleRequests = flag.Int("oracle.requests", 12, "how many requests of each world the oracle compares")
)

// oracleSettings are the settings that worlds take turns with.
var oracleSettings = []string{
	``,
	`nhcb: true`,
	`strategy: NoTranslation`,
	`strategy: UnderscoreEscapingWithoutSuffixes`,
	`strategy: NoUTF8EscapingWithSuffixes`,
	`{promote: [region, host.name, k8s.pod.name], keep_identifying: true}`,
	`{promote_all: true, ignore: [service.name, service.namespace, service.instance.id, process.pid]}`,
	`{scope_labels: false, namespace: edge}`,
	`{nhcb: true, type_and_unit: true, target_info: false}`,
	`{keep_leading_underscore: true, collapse_underscores: true}`,
}

// TestOracle sends the requests of seeded worlds through a pipeline that lives
// as long as its world, and through the converter of Prometheus's own OTLP
// endpoint, and compares all that their backends get. Where the two differ on
// purpose, an exception says why. An exception that explains nothing any more
// fails the test.
func TestOracle(t *testing.T) {
	explained := make(map[string]bool)
	for seed := range *oracleWorlds {
		yaml := oracleSettings[seed%len(oracleSettings)]
		t.Run(fmt.Sprintf("%d %s", seed, yaml), func(t *testing.T) {
			compareWorld(t, uint64(seed), readSettings(t, []byte(yaml)), explained)
		})
	}
	if t.Failed() || *oracleWorlds < len(oracleSettings) {
		return
	}
	for _, x := range exceptions {
		require.True(t, explained[x.name], "the exception %q (%s) explains no difference", x.name, x.why)
	}
}

func compareWorld(t *testing.T, seed uint64, s settings, explained map[string]bool) {
	const start = 1_700_000_000_000
	s.NowMs = start
	b := newBench(t, s)
	w := convertertest.NewWorld(seed, start)
	encodings := convertertest.Encodings(seed)
	samples := 0
	for n := range *oracleRequests {
		req := w.Request()
		b.nowMs.Store(int64(w.NowMs()))
		e := encodings[n%len(encodings)]
		body, err := e.Encode(req)
		require.NoError(t, err)
		report, err := b.push(body, e.JSON)
		require.NoError(t, err)
		b.rec.AssertClean(t)
		ours := b.rec.Samples()
		b.rec.Reset()
		samples += len(ours)

		got := describe(simplify(ours))
		want := describe(explainAll(t, req, s, ""))
		if !slices.Equal(want, got) {
			require.Failf(t, "not what Prometheus makes of it", "request %d, %s (-Prometheus +ours)\n%s\nreport %+v", n, e.Name, cmp.Diff(want, got), report)
		}
		for _, x := range exceptions {
			if !explained[x.name] {
				explained[x.name] = !slices.Equal(describe(explainAll(t, req, s, x.name)), got)
			}
		}
	}
	require.Positive(t, samples)
}

// explainAll returns what Prometheus makes of req with every exception applied
// but the one named without.
func explainAll(t *testing.T, req *colmetricspb.ExportMetricsServiceRequest, s settings, without string) []storagetest.Sample {
	t.Helper()
	in := proto.Clone(req).(*colmetricspb.ExportMetricsServiceRequest)
	for _, x := range exceptions {
		if x.edit != nil && x.name != without {
			x.edit(in, s)
		}
	}
	out := askPrometheus(t, in, s)
	for _, x := range exceptions {
		if x.fix != nil && x.name != without {
			x.fix(out, req, s)
		}
	}
	return simplify(out)
}

// simplify returns the samples in an order and with exemplars in an order that
// does not depend on who made them.
func simplify(in []storagetest.Sample) []storagetest.Sample {
	out := slices.Clone(in)
	for i := range out {
		out[i].Exemplars = slices.Clone(out[i].Exemplars)
		slices.SortFunc(out[i].Exemplars, func(a, b exemplar.Exemplar) int {
			if c := exemplar.Compare(a, b); c != 0 {
				return c
			}
			return labels.Compare(a.Labels, b.Labels)
		})
	}
	storagetest.Sort(out)
	return out
}

// describe returns samples with their metadata as lines.
func describe(samples []storagetest.Sample) []string {
	var lines []string
	for _, s := range samples {
		m := s.Metadata
		lines = append(lines, strings.TrimRight(s.String(), "\n")+
			fmt.Sprintf("\n  %s: %s unit=%q help=%q", s.MetricFamilyName, m.Type, m.Unit, m.Help))
	}
	return lines
}

// askPrometheus runs Prometheus's converter. Its errors are about metrics that
// it leaves out, which the comparison shows.
func askPrometheus(t *testing.T, req *colmetricspb.ExportMetricsServiceRequest, s settings) []storagetest.Sample {
	t.Helper()
	md := pmetricotlp.NewExportRequest()
	require.NoError(t, md.UnmarshalProto(convertertest.Ascending(req)))
	if s.Strategy == "" {
		s.Strategy = otlptranslator.UnderscoreEscapingWithSuffixes
	}
	off := func(b *bool) bool { return b != nil && !*b }
	var rec prometheusAppender
	_, _ = prometheusremotewrite.NewPrometheusConverter(&rec).FromMetrics(context.Background(), md.Metrics(), prometheusremotewrite.Settings{
		Namespace:         s.Namespace,
		DisableTargetInfo: off(s.TargetInfo),
		AddMetricSuffixes: s.Strategy.ShouldAddSuffixes(),
		AllowUTF8:         !s.Strategy.ShouldEscape(),
		PromoteResourceAttributes: prometheusremotewrite.NewPromoteResourceAttributes(config.OTLPConfig{
			PromoteResourceAttributes:    s.Promote,
			PromoteAllResourceAttributes: s.PromoteAll,
			IgnoreResourceAttributes:     s.Ignore,
		}),
		KeepIdentifyingResourceAttributes:    s.KeepIdentifying,
		ConvertHistogramsToNHCB:              s.NHCB,
		PromoteScopeMetadata:                 !off(s.ScopeLabels),
		EnableTypeAndUnitLabels:              s.TypeAndUnit,
		LabelNameUnderscoreSanitization:      !s.KeepLeadingUnderscore,
		LabelNamePreserveMultipleUnderscores: !s.CollapseUnderscores,
	})
	return rec.samples
}

// prometheusAppender writes down what Prometheus's converter appends.
type prometheusAppender struct {
	promstorage.AppenderV2
	samples []storagetest.Sample
}

func (a *prometheusAppender) Append(_ promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	a.samples = append(a.samples, storagetest.Sample{
		Labels: ls, ST: st, T: t, V: v, H: h, FH: fh, Exemplars: slices.Clone(opts.Exemplars),
		Metadata: opts.Metadata, MetricFamilyName: opts.MetricFamilyName,
	})
	return 1, nil
}
