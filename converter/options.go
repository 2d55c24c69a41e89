package converter

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"

	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage"
)

// Options configures a [Pipeline]. The zero value of every field but Backend
// is what Prometheus does by default.
type Options struct {
	// Backend receives the series; required.
	Backend storage.Backend
	// Logger, by default slog's.
	Logger *slog.Logger
	// Registerer takes the room's metrics; nil registers nothing.
	Registerer prometheus.Registerer
	// Now is the clock for sample windows, by default [time.Now].
	Now func() time.Time

	Names  NameOptions
	Labels LabelOptions

	// NHCB converts explicit-bucket histograms to native histograms with custom
	// buckets instead of classic series.
	NHCB bool
	// DisableTargetInfo leaves target_info out.
	DisableTargetInfo bool
	// OpenMetricsLE prints le and quantile as 1.0 instead of 1.
	OpenMetricsLE bool

	// MaxFuture rejects points that are further ahead, by default 10 minutes.
	MaxFuture time.Duration
	// MaxSampleAge rejects points that are older; zero rejects none.
	MaxSampleAge time.Duration

	// Cache bounds what is remembered between requests.
	Cache series.Options
}

// NameOptions says how metrics are named.
type NameOptions struct {
	// Strategy, by default UnderscoreEscapingWithSuffixes.
	Strategy otlptranslator.TranslationStrategyOption
	// Namespace is put before every metric name.
	Namespace string
}

// LabelOptions says which labels a series gets.
type LabelOptions struct {
	// PromoteResourceAttributes names the resource attributes that become labels.
	PromoteResourceAttributes []string
	// PromoteAllResourceAttributes promotes all but IgnoreResourceAttributes.
	PromoteAllResourceAttributes bool
	IgnoreResourceAttributes     []string
	// KeepIdentifyingResourceAttributes keeps service.* on target_info.
	KeepIdentifyingResourceAttributes bool
	// DisableScopeMetadata leaves the otel_scope_* labels out.
	DisableScopeMetadata bool
	// KeepLeadingUnderscore leaves label names that start with one underscore as
	// they are. Prometheus puts "key" before them by default
	// (label_name_underscore_sanitization).
	KeepLeadingUnderscore bool
	// CollapseUnderscores turns runs of underscores in label names into one.
	// Prometheus keeps them by default (label_name_preserve_multiple_underscores).
	CollapseUnderscores bool
	// TypeAndUnit adds __type__ and __unit__.
	TypeAndUnit bool
}
