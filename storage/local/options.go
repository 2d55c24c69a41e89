package local

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/compression"
)

// Options configures a [Backend]. Zero fields but Dir have defaults.
type Options struct {
	// Dir holds the data; required. It is made if missing and locked while open.
	Dir string
	// Logger, by default slog's.
	Logger *slog.Logger
	// Registerer takes the metrics of the TSDB and of this room; nil registers
	// nothing.
	Registerer prometheus.Registerer

	// RetentionTime is how long samples are kept, by default 15 days.
	RetentionTime time.Duration
	// RetentionSize is how many bytes of blocks are kept; zero does not limit.
	RetentionSize int64
	// OutOfOrderTimeWindow is how much older than the newest stored sample a
	// sample may be, by default 30 minutes. It cannot be switched off: two
	// requests that overlap are out of order now and then.
	OutOfOrderTimeWindow time.Duration
	// MaxExemplars is how many exemplars are kept in memory, over all series; by
	// default 100 000.
	MaxExemplars int
	// MaxMetadata is how many metric families metadata is kept for, by default
	// 100 000. It is a bound for hostile input, not a setting to tune.
	MaxMetadata int

	// onState, for tests, is told of every change between available and not.
	onState func(broken error)
	// backoff is the first wait between attempts to open the store again.
	backoff time.Duration
}

const (
	defaultRetention    = 15 * 24 * time.Hour
	defaultWindow       = 30 * time.Minute
	defaultMaxExemplars = 100_000
	defaultMaxMetadata  = 100_000
)

func (o Options) withDefaults() (Options, error) {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("storage.path is empty"))
	}
	for _, c := range []struct {
		key      string
		negative bool
	}{
		{"storage.tsdb.retention.time", o.RetentionTime < 0},
		{"storage.tsdb.retention.size", o.RetentionSize < 0},
		{"storage.tsdb.out_of_order_time_window", o.OutOfOrderTimeWindow < 0},
		{"storage.exemplars.max_exemplars", o.MaxExemplars < 0},
		{"local.Options.MaxMetadata", o.MaxMetadata < 0},
	} {
		if c.negative {
			errs = append(errs, fmt.Errorf("%s is negative", c.key))
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.RetentionTime == 0 {
		o.RetentionTime = defaultRetention
	}
	if o.OutOfOrderTimeWindow == 0 {
		o.OutOfOrderTimeWindow = defaultWindow
	}
	if o.MaxExemplars == 0 {
		o.MaxExemplars = defaultMaxExemplars
	}
	if o.MaxMetadata == 0 {
		o.MaxMetadata = defaultMaxMetadata
	}
	if o.backoff == 0 {
		o.backoff = time.Second
	}
	return o, errors.Join(errs...)
}

// maxBlock is the longest span of one block, as Prometheus has it: a tenth of
// the retention, so that blocks go one by one, and 31 days at most.
const maxBlock = 31 * 24 * time.Hour

func (o Options) tsdb() *tsdb.Options {
	t := tsdb.DefaultOptions()
	t.RetentionDuration = o.RetentionTime.Milliseconds()
	t.MaxBytes = o.RetentionSize
	t.MaxBlockDuration = max(t.MinBlockDuration, min(maxBlock, o.RetentionTime/10).Milliseconds())
	t.WALCompression = compression.Snappy
	t.OutOfOrderTimeWindow = o.OutOfOrderTimeWindow.Milliseconds()
	t.EnableExemplarStorage = true
	t.MaxExemplars = int64(o.MaxExemplars)
	// Start timestamps need the encodings that have room for them.
	t.EnableSTStorage = true
	t.FloatChunkEncoding = chunkenc.EncXOR2
	t.EnableHistogramSTEncoding = true
	return t
}
