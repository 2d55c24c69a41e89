package converter

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/relabel"

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

	// Relabel runs on the labels of every series, once (metric_relabel_configs).
	// A series it drops is accepted and goes nowhere.
	Relabel []*relabel.Config
	// InstanceFrom builds the instance of resources without
	// service.instance.id: the first entry that gives something. An entry is a
	// resource attribute, several joined by "+", or "peer_ip".
	InstanceFrom []string

	Limits Limits
	// Cache bounds what is remembered between requests.
	Cache series.Options

	// Unpooled builds a converter for every request instead of taking one from
	// the pool: what pooling is measured against. The default pools.
	Unpooled bool
	// OnVerdict, if not nil, is told of every rejection and warning as it
	// happens. It is for tools that explain a request and must be quick.
	OnVerdict func(Verdict)
}

// Limits bound what senders may do. Over a limit only the point concerned is
// rejected, and the message names the limit. Zero is off, unless said
// otherwise.
type Limits struct {
	// MaxFuture rejects points that are further ahead, by default 10 minutes.
	MaxFuture time.Duration
	// MaxSampleAge rejects points that are older.
	MaxSampleAge time.Duration
	// RejectLate rejects points older than the newest acknowledged of their
	// series; by default the storage decides.
	RejectLate bool
	// MaxLabelNames bounds the labels of a series, MaxLabelNameLength and
	// MaxLabelValueLength their bytes.
	MaxLabelNames, MaxLabelNameLength, MaxLabelValueLength int
	// MaxSeriesPerMetric bounds the active series of one metric name,
	// MaxActiveSeries those of a tenant.
	MaxSeriesPerMetric, MaxActiveSeries int
	// MaxExemplarsPerSeries and MaxExemplarsPerRequest bound exemplars; the
	// newest are kept. Exemplars over a limit never cost a sample.
	MaxExemplarsPerSeries, MaxExemplarsPerRequest int
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
