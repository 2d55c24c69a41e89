package converter_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/series"
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
	MaxFuture             time.Duration                            `yaml:"max_future"`
	MaxSampleAge          time.Duration                            `yaml:"max_sample_age"`
	// NeedsMemory says that the story does not hold when the cache is full.
	NeedsMemory bool `yaml:"needs_memory"`
	// NowMs is the clock, by default an hour after the epoch.
	NowMs int64 `yaml:"now"`
}

func readSettings(t testing.TB, text []byte) settings {
	t.Helper()
	s := settings{NowMs: time.Hour.Milliseconds()}
	if len(bytes.TrimSpace(text)) > 0 {
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		require.NoError(t, d.Decode(&s))
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
		Limits: converter.Limits{
			MaxFuture:    s.MaxFuture,
			MaxSampleAge: s.MaxSampleAge,
		},
	}
}

// bench is a pipeline in front of a recorder, with a clock that tests set.
type bench struct {
	tenant string
	rec    *storagetest.Recorder
	line   *converter.Pipeline
	nowMs  atomic.Int64
}

func newBench(t testing.TB, s settings) *bench {
	t.Helper()
	return newBenchWithCache(t, s, series.Options{})
}

func newBenchWithCache(t testing.TB, s settings, cache series.Options) *bench {
	t.Helper()
	b := &bench{rec: storagetest.NewRecorder()}
	b.nowMs.Store(s.NowMs)
	o := s.options()
	o.Backend, o.Cache = b.rec, cache
	o.Logger = slog.New(slog.DiscardHandler)
	o.Now = func() time.Time { return time.UnixMilli(b.nowMs.Load()) }
	line, err := converter.New(o)
	require.NoError(t, err)
	b.line = line
	return b
}

// push sends a copy of body and spoils the copy afterwards, as the gateway's
// buffer pool does: nothing may point into it.
func (b *bench) push(body []byte, json bool) (converter.Report, error) {
	body = bytes.Clone(body)
	var called int
	report, err := b.line.Push(context.Background(), converter.Request{
		Tenant: b.tenant, Body: body, JSON: json, Converted: func() { called++ },
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
