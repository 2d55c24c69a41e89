package config

import (
	"time"

	"github.com/prometheus/common/model"
	promconfig "github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/relabel"
)

// Storage modes.
const (
	ModeLocal  = "local"
	ModeDirect = "direct"
)

// Config is the effective configuration: defaults, then the file, then flags.
type Config struct {
	HTTP     HTTP     `yaml:"http"`
	GRPC     GRPC     `yaml:"grpc"`
	Admin    Admin    `yaml:"admin"`
	Storage  Storage  `yaml:"storage"`
	Direct   Direct   `yaml:"direct"`
	Shutdown Shutdown `yaml:"shutdown"`
	Log      Log      `yaml:"log"`

	Global      Global        `yaml:"global,omitempty"`
	OTLP        OTLP          `yaml:"otlp"`
	RemoteWrite []RemoteWrite `yaml:"remote_write,omitempty"`

	// MetricRelabelConfigs run on the labels of every series, whatever the
	// storage. Prometheus has the block in its scrape configurations.
	MetricRelabelConfigs []*relabel.Config `yaml:"metric_relabel_configs,omitempty"`

	Limits Limits `yaml:"limits"`
	Cache  Cache  `yaml:"cache"`

	// Tenants says whose requests are; nil is nobody's in particular.
	Tenants *Tenants `yaml:"tenants,omitempty"`
}

// HTTP configures the OTLP/HTTP listener.
type HTTP struct {
	ListenAddress      string   `yaml:"listen_address" help:"Address for OTLP/HTTP; empty turns it off."`
	MaxRequestSize     Size     `yaml:"max_request_size" help:"Largest request over HTTP, compressed and inflated."`
	MaxJSONSize        Size     `yaml:"max_json_size" help:"Largest OTLP/JSON request, inflated."`
	CORSAllowedOrigins []string `yaml:"cors_allowed_origins,omitempty" help:"Origin from which browsers may export; repeatable, * allows all."`
}

// GRPC configures the OTLP/gRPC listener.
type GRPC struct {
	ListenAddress  string `yaml:"listen_address" help:"Address for OTLP/gRPC; empty turns it off."`
	MaxRequestSize Size   `yaml:"max_request_size" help:"Largest request over gRPC, compressed and inflated."`
}

// Admin configures the listener for operators.
type Admin struct {
	ListenAddress string `yaml:"listen_address" help:"Address for metrics, health, profiles and, with local storage, the Prometheus query API; empty turns it off."`
}

// Storage says where series go.
type Storage struct {
	Mode      string    `yaml:"mode" help:"local keeps the series in an embedded TSDB, direct sends them on by remote write. Default: direct when a remote-write URL is set, else local."`
	Path      string    `yaml:"path" help:"Directory of the embedded TSDB."`
	TSDB      TSDB      `yaml:"tsdb"`
	Exemplars Exemplars `yaml:"exemplars"`
}

// TSDB configures the embedded TSDB; the keys are Prometheus's.
type TSDB struct {
	Retention             Retention      `yaml:"retention"`
	OutOfOrderTimeWindow  model.Duration `yaml:"out_of_order_time_window" help:"How far behind its newest sample a series may be written."`
	StaleSeriesCompaction float64        `yaml:"stale_series_compaction_threshold,omitempty"`
	ChunkEncoding         ChunkEncoding  `yaml:"chunk_encoding,omitempty"`
}

// ChunkEncoding is Prometheus's block of that name; accepted, not honoured.
type ChunkEncoding = promconfig.ChunkEncodingConfig

// Retention says when stored samples go.
type Retention struct {
	Time       model.Duration `yaml:"time" help:"How long samples are kept."`
	Size       Size           `yaml:"size,omitempty" help:"How much disk the samples may take; 0 is no limit."`
	Percentage float64        `yaml:"percentage,omitempty"`
}

// Exemplars configures the exemplar buffer of the embedded TSDB.
type Exemplars struct {
	MaxExemplars int64 `yaml:"max_exemplars" help:"How many exemplars are kept in memory."`
}

// Direct configures remote write without a disk.
type Direct struct {
	AckTimeout model.Duration `yaml:"ack_timeout" help:"How long a request waits for the far end before the client is told to retry."`
	// What commits hold in memory until the far end has answered.
	MaxPendingBytes Size `yaml:"max_pending_bytes,omitempty" help:"Memory for samples that wait for the far end; 0 is a quarter of the memory limit, at most 256MiB."`
	MaxTenantBytes  Size `yaml:"max_tenant_bytes,omitempty" help:"Of that, what one tenant may take; 0 is all."`
}

// Shutdown configures the orderly end.
type Shutdown struct {
	Timeout model.Duration `yaml:"timeout" help:"How long requests in flight may take to finish after SIGTERM."`
}

// Log configures the log on standard error.
type Log struct {
	Level  string `yaml:"level" help:"debug, info, warn or error."`
	Format string `yaml:"format" help:"logfmt or json."`
}

// Limits bounds what senders may do. Zero is no limit, but for max_future.
type Limits struct {
	MaxFuture    model.Duration `yaml:"max_future" help:"Points further ahead of the clock are rejected."`
	MaxSampleAge model.Duration `yaml:"max_sample_age,omitempty" help:"Points older than this are rejected; 0 rejects none."`
	RejectLate   bool           `yaml:"reject_late" help:"Reject points older than the newest acknowledged one of their series."`

	MaxLabelNamesPerSeries int `yaml:"max_label_names_per_series,omitempty" help:"Labels of a series, the name included; 0 is no limit."`
	MaxLabelNameLength     int `yaml:"max_label_name_length,omitempty" help:"Bytes of a label name; 0 is no limit."`
	MaxLabelValueLength    int `yaml:"max_label_value_length,omitempty" help:"Bytes of a label value; 0 is no limit."`
	MaxSeriesPerMetric     int `yaml:"max_series_per_metric,omitempty" help:"Active series of one metric name; 0 is no limit."`
	MaxActiveSeries        int `yaml:"max_active_series,omitempty" help:"Active series in all; 0 is no limit."`
	MaxExemplarsPerSeries  int `yaml:"max_exemplars_per_series,omitempty" help:"Exemplars of one series in a request, of which the newest are kept; 0 is no limit."`
	MaxExemplarsPerRequest int `yaml:"max_exemplars_per_request,omitempty" help:"Exemplars of a request; 0 is no limit."`
}

// Cache bounds what is remembered about senders between requests.
type Cache struct {
	MaxBytes    Size           `yaml:"max_bytes" help:"Memory for the target cache; 0 is a quarter of the memory limit, or 1GiB without one."`
	MaxSeries   int            `yaml:"max_series,omitempty" help:"Series in the target cache; 0 leaves it to cache.max-bytes."`
	IdleTimeout model.Duration `yaml:"idle_timeout" help:"How long a silent target is remembered."`
}

// Default returns the configuration of a process without file and flags.
func Default() Config {
	return Config{
		HTTP: HTTP{
			ListenAddress:  ":4318",
			MaxRequestSize: 64 << 20,
			MaxJSONSize:    16 << 20,
		},
		GRPC: GRPC{
			ListenAddress:  ":4317",
			MaxRequestSize: 64 << 20,
		},
		Admin: Admin{ListenAddress: "127.0.0.1:9465"},
		Storage: Storage{
			Path: "./data",
			TSDB: TSDB{
				Retention:            Retention{Time: model.Duration(15 * 24 * time.Hour)},
				OutOfOrderTimeWindow: model.Duration(30 * time.Minute),
			},
			Exemplars: Exemplars{MaxExemplars: promconfig.DefaultExemplarsConfig.MaxExemplars},
		},
		Direct:   Direct{AckTimeout: model.Duration(5 * time.Second)},
		Shutdown: Shutdown{Timeout: model.Duration(30 * time.Second)},
		Log:      Log{Level: "info", Format: "logfmt"},
		OTLP:     defaultOTLP(),
		Limits:   Limits{MaxFuture: model.Duration(10 * time.Minute)},
		Cache:    Cache{IdleTimeout: model.Duration(time.Hour)},
	}
}

// Mode returns the storage mode, which without a word of the operator's
// follows from whether there is somewhere to send to.
func (c *Config) Mode() string {
	switch {
	case c.Storage.Mode != "":
		return c.Storage.Mode
	case len(c.RemoteWrite) > 0:
		return ModeDirect
	}
	return ModeLocal
}
