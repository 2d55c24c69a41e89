package converter_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/pool"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// settings are the options of a pipeline as test files write them.
type settings struct {
	Strategy              otlptranslator.TranslationStrategyOption `yaml:"strategy"`
	Namespace             string                                   `yaml:"namespace"`
	Promote               []string                                 `yaml:"promote"`
	PromoteAll            bool                                     `yaml:"promote_all"`
	Ignore                []string                                 `yaml:"ignore"`
	KeepIdentifying       bool                                     `yaml:"keep_identifying"`
	ScopeLabels           *bool                                    `yaml:"scope_labels"`
	TargetInfo            *bool                                    `yaml:"target_info"`
	KeepLeadingUnderscore bool                                     `yaml:"keep_leading_underscore"`
	CollapseUnderscores   bool                                     `yaml:"collapse_underscores"`
	TypeAndUnit           bool                                     `yaml:"type_and_unit"`
	NHCB                  bool                                     `yaml:"nhcb"`
	LEFormat              string                                   `yaml:"le_format"`
	InstanceFrom          []string                                 `yaml:"instance_from"`
	Relabel               []*relabel.Config                        `yaml:"metric_relabel_configs"`
	Limits                limits                                   `yaml:"limits"`
	// NeedsMemory says that the story does not hold when the cache is full.
	NeedsMemory bool `yaml:"needs_memory"`
	// Once says that the story cannot be told again to who has heard it: it
	// begins with a target or a series that nobody has seen.
	Once bool `yaml:"once"`
	// NowMs is the clock, by default an hour after the epoch.
	NowMs int64 `yaml:"now"`
}

// limits are named as in the configuration file.
type limits struct {
	MaxFuture              time.Duration `yaml:"max_future"`
	MaxSampleAge           time.Duration `yaml:"max_sample_age"`
	RejectLate             bool          `yaml:"reject_late"`
	MaxLabelNames          int           `yaml:"max_label_names_per_series"`
	MaxLabelNameLength     int           `yaml:"max_label_name_length"`
	MaxLabelValueLength    int           `yaml:"max_label_value_length"`
	MaxSeriesPerMetric     int           `yaml:"max_series_per_metric"`
	MaxActiveSeries        int           `yaml:"max_active_series"`
	MaxExemplarsPerSeries  int           `yaml:"max_exemplars_per_series"`
	MaxExemplarsPerRequest int           `yaml:"max_exemplars_per_request"`
}

func readSettings(t testing.TB, text []byte) settings {
	t.Helper()
	s := settings{NowMs: time.Hour.Milliseconds()}
	if len(bytes.TrimSpace(text)) > 0 {
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		require.NoError(t, d.Decode(&s))
	}
	for _, c := range s.Relabel {
		require.NoError(t, c.Validate(model.UTF8Validation))
	}
	if s.LEFormat != "" {
		require.Contains(t, []string{"plain", "openmetrics"}, s.LEFormat)
	}
	return s
}

func (s settings) options() converter.Options {
	off := func(b *bool) bool { return b != nil && !*b }
	return converter.Options{
		Names: converter.NameOptions{Strategy: s.Strategy, Namespace: s.Namespace},
		Labels: converter.LabelOptions{
			PromoteResourceAttributes:         s.Promote,
			PromoteAllResourceAttributes:      s.PromoteAll,
			IgnoreResourceAttributes:          s.Ignore,
			KeepIdentifyingResourceAttributes: s.KeepIdentifying,
			DisableScopeMetadata:              off(s.ScopeLabels),
			KeepLeadingUnderscore:             s.KeepLeadingUnderscore,
			CollapseUnderscores:               s.CollapseUnderscores,
			TypeAndUnit:                       s.TypeAndUnit,
		},
		NHCB:              s.NHCB,
		DisableTargetInfo: off(s.TargetInfo),
		OpenMetricsLE:     s.LEFormat == "openmetrics",
		Relabel:           s.Relabel,
		InstanceFrom:      s.InstanceFrom,
		Limits:            converter.Limits(s.Limits),
	}
}

// bench is a pipeline in front of a recorder, with a clock that tests set.
type bench struct {
	tenant string
	peer   string
	told   *listener // nil when nobody listens
	rec    *storagetest.Recorder
	line   *converter.Pipeline
	nowMs  atomic.Int64
}

func newBench(t testing.TB, s settings, change ...func(*converter.Options)) *bench {
	t.Helper()
	b := &bench{rec: storagetest.NewRecorder()}
	b.nowMs.Store(s.NowMs)
	o := s.options()
	o.Backend = b.rec
	for _, f := range change {
		f(&o)
	}
	o.Logger = slog.New(slog.DiscardHandler)
	o.Now = func() time.Time { return time.UnixMilli(b.nowMs.Load()) }
	line, err := converter.New(o)
	require.NoError(t, err)
	b.line = line
	return b
}

// newListeningBench is newBench with a listener at OnVerdict.
func newListeningBench(t testing.TB, s settings) *bench {
	t.Helper()
	told := new(listener)
	b := newBench(t, s, func(o *converter.Options) { o.OnVerdict = told.listen })
	b.told = told
	return b
}

// listener hears the verdicts on one request.
type listener struct {
	rejected int
	verdicts []converter.Verdict
}

func (l *listener) listen(v converter.Verdict) {
	if v.Rejected {
		l.rejected++
	}
	l.verdicts = append(l.verdicts, v)
}

// reasons returns, once each, why data was changed in a way that is no conflict
// and no rejection.
func (l *listener) reasons() []string {
	if l == nil {
		return nil
	}
	var out []string
	for _, v := range l.verdicts {
		conflict := slices.Contains([]string{"writers", "series", "type", "target_info"}, v.Reason)
		if !v.Rejected && !conflict && !slices.Contains(out, v.Reason) {
			out = append(out, v.Reason)
		}
	}
	slices.Sort(out)
	return out
}

// push sends a copy of body and spoils the copy afterwards, as the gateway's
// buffer pool does: nothing may point into it.
func (b *bench) push(body []byte, json bool) (converter.Report, error) {
	body = bytes.Clone(body)
	if b.told != nil {
		*b.told = listener{}
	}
	var called int
	report, err := b.line.Push(context.Background(), converter.Request{
		Tenant: b.tenant, Peer: b.peer, Body: body, JSON: json, Converted: func() { called++ },
	})
	pool.Poison(body)
	if called != 1 {
		return report, fmt.Errorf("Converted was called %d times", called)
	}
	return report, err
}

// result is what a backend got, in the form of golden files.
type result struct {
	series, metadata string
}

// take returns what was stored since the last call, with times that lie
// shiftMs in the past of what was stored.
func (b *bench) take(t testing.TB, shiftMs int64) result {
	t.Helper()
	b.rec.AssertClean(t)
	samples := b.rec.Samples()
	for i := range samples {
		s := &samples[i]
		checkStale(t, *s)
		s.T -= shiftMs
		if s.ST != 0 {
			s.ST -= shiftMs
		}
		s.Exemplars = append([]exemplar.Exemplar(nil), s.Exemplars...)
		for j := range s.Exemplars {
			s.Exemplars[j].Ts -= shiftMs
		}
	}
	r := result{series: storagetest.Text(samples), metadata: b.rec.MetadataText()}
	b.rec.Reset()
	return r
}

// checkStale asserts what the text of a stale histogram leaves out.
func checkStale(t testing.TB, s storagetest.Sample) {
	t.Helper()
	if s.H == nil || !strings.Contains(s.String(), "stale histogram") {
		return
	}
	require.Zero(t, s.H.Count, "count of %s", s)
	require.Zero(t, s.H.ZeroCount, "zero count of %s", s)
	require.Empty(t, s.H.PositiveSpans, "spans of %s", s)
	require.Empty(t, s.H.PositiveBuckets, "buckets of %s", s)
	require.Empty(t, s.H.NegativeSpans, "negative spans of %s", s)
	require.Empty(t, s.H.NegativeBuckets, "negative buckets of %s", s)
}
