package converter_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
	"github.com/otlpgw/otlpgw/pool"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

var (
	oracleWorlds   = flag.Int("oracle.worlds", 0, "how many worlds of senders the oracle compares, by default 850, or 85 with the race detector")
	oracleRequests = flag.Int("oracle.requests", 12, "how many requests of each world the oracle compares")
)

// minOracleRequests is how many requests the oracle compares by default.
const minOracleRequests = 10_000

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

// settingsOf returns the settings of a world: each of the list in turn, and then
// any mixture of options.
func settingsOf(seed uint64) string {
	if seed < uint64(len(oracleSettings)) {
		return oracleSettings[seed]
	}
	rnd := rand.New(rand.NewPCG(seed, 0x0ac1e))
	var on []string
	for _, option := range []string{
		"nhcb: true", "scope_labels: false", "target_info: false", "keep_identifying: true", "type_and_unit: true",
		"keep_leading_underscore: true", "collapse_underscores: true", "namespace: edge",
	} {
		if rnd.IntN(3) == 0 {
			on = append(on, option)
		}
	}
	switch rnd.IntN(4) {
	case 0:
		on = append(on, "promote: [region, host.name, service.name, no.such.key]")
	case 1:
		on = append(on, "promote_all: true", "ignore: [service.namespace, telemetry.sdk.name]")
	}
	strategies := []string{"UnderscoreEscapingWithSuffixes", "UnderscoreEscapingWithoutSuffixes", "NoUTF8EscapingWithSuffixes", "NoTranslation"}
	on = append(on, "strategy: "+strategies[rnd.IntN(len(strategies))])
	return "{" + strings.Join(on, ", ") + "}"
}

// TestOracle sends the requests of seeded worlds through a pipeline that lives
// as long as its world, and through the converter of Prometheus's own OTLP
// endpoint, and compares all that their backends get. Where the two differ on
// purpose, an exception says why. An exception that explains nothing any more
// fails the test.
//
// With the race detector there are fewer worlds: it makes each ten times as slow
// and has nothing to say about values.
func TestOracle(t *testing.T) {
	worlds := *oracleWorlds
	switch {
	case worlds > 0:
	case pool.Poisoned:
		worlds = 85
	default:
		worlds = 850
		require.GreaterOrEqual(t, worlds**oracleRequests, minOracleRequests)
	}
	var open unexplained
	open.names = make(map[string]bool)
	for _, x := range exceptions {
		open.names[x.name] = true
	}
	t.Run("worlds", func(t *testing.T) {
		for seed := range uint64(worlds) {
			yaml := settingsOf(seed)
			t.Run(fmt.Sprintf("%d %s", seed, yaml), func(t *testing.T) {
				t.Parallel()
				compareWorld(t, seed, *oracleRequests, readSettings(t, []byte(yaml)), &open)
			})
		}
	})
	if t.Failed() || worlds < 8*len(oracleSettings) {
		return
	}
	for _, x := range exceptions {
		require.False(t, open.has(x.name), "the exception %q (%s) explains no difference", x.name, x.why)
	}
}

// unexplained are the exceptions that no difference was found for yet. It is
// safe for concurrent use.
type unexplained struct {
	mu    sync.Mutex
	names map[string]bool
}

func (u *unexplained) has(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.names[name]
}

func (u *unexplained) found(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.names, name)
}

func compareWorld(t *testing.T, seed uint64, requests int, s settings, open *unexplained) {
	const start = 1_700_000_000_000
	s.NowMs = start
	b := newBench(t, s)
	w := convertertest.NewWorld(seed, start)
	encodings := convertertest.Encodings(seed)
	samples := 0
	for n := range requests {
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
			if open.has(x.name) && !slices.Equal(describe(explainAll(t, req, s, x.name)), got) {
				open.found(x.name)
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
			out = x.fix(out, req, s)
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
		Namespace: s.Namespace,
		// Prometheus repeats target_info every half of it between the oldest and
		// the newest point, and one of our points is from 1970.
		LookbackDelta:     100 * 365 * 24 * time.Hour,
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

// maxAppended is how many samples Prometheus may make of one request. A point
// without a time has it write target_info for every few minutes since 1970.
const maxAppended = 20_000

// prometheusAppender writes down what Prometheus's converter appends.
type prometheusAppender struct {
	promstorage.AppenderV2
	samples []storagetest.Sample
}

func (a *prometheusAppender) Append(_ promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if len(a.samples) == maxAppended {
		return 0, errors.New("too many samples")
	}
	a.samples = append(a.samples, storagetest.Sample{
		Labels: ls, ST: st, T: t, V: v, H: h, FH: fh, Exemplars: slices.Clone(opts.Exemplars),
		Metadata: opts.Metadata, MetricFamilyName: opts.MetricFamilyName,
	})
	return 1, nil
}
