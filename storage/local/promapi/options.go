package promapi

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
)

// Store is what the API reads from.
type Store interface {
	promstorage.Queryable
	promstorage.ExemplarQueryable
	// Metadata returns the metadata of a metric family, or of all if family is
	// empty.
	Metadata(family string) map[string]metadata.Metadata
}

// Build is the answer of status/buildinfo. Clients tell from its version what
// the API can do, so the default version is that of the Prometheus whose engine
// answers.
type Build struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Branch    string `json:"branch"`
	BuildUser string `json:"buildUser"`
	BuildDate string `json:"buildDate"`
	GoVersion string `json:"goVersion"`
}

// Options configures an [API]. The defaults are those of Prometheus's flags
// --query.*.
type Options struct {
	// Store answers; required.
	Store Store
	// Logger, by default slog's.
	Logger *slog.Logger
	// Registerer takes the engine's metrics, prometheus_engine_*; nil registers
	// nothing.
	Registerer prometheus.Registerer
	// Build is told to clients; its zero fields have defaults.
	Build Build

	// LookbackDelta is how long a sample stays the latest, by default 5 minutes.
	LookbackDelta time.Duration
	// MaxSamples is how many samples one query may hold in memory at once, by
	// default 50 000 000.
	MaxSamples int
	// Timeout bounds every request, by default 2 minutes.
	Timeout time.Duration
	// MaxConcurrent is how many requests read the store at once, by default 20.
	// Others wait within their timeout.
	MaxConcurrent int
	// Now is the clock, by default [time.Now].
	Now func() time.Time
}

const (
	defaultLookback      = 5 * time.Minute
	defaultMaxSamples    = 50_000_000
	defaultTimeout       = 2 * time.Minute
	defaultMaxConcurrent = 20

	// apiVersion is the Prometheus of the engine in go.mod: module v0.316.x is
	// release 3.16.x.
	apiVersion = "3.16.0"
)

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil {
		return o, errors.New("promapi.Options.Store is nil")
	}
	if o.LookbackDelta < 0 || o.MaxSamples < 0 || o.Timeout < 0 || o.MaxConcurrent < 0 {
		return o, errors.New("promapi.Options has a negative limit")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.LookbackDelta == 0 {
		o.LookbackDelta = defaultLookback
	}
	if o.MaxSamples == 0 {
		o.MaxSamples = defaultMaxSamples
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = defaultMaxConcurrent
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
