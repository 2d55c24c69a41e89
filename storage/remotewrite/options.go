package remotewrite

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/sigv4"
)

// Message says which protobuf message a destination gets.
type Message uint8

const (
	// MessageAuto is 2.0, and 1.0 for destinations that turn out not to know
	// 2.0: they answer 415, or 2xx without a Written header, or 400 to the very
	// first message.
	MessageAuto Message = iota
	// MessageV1 is 1.0 (prometheus.WriteRequest), always.
	MessageV1
	// MessageV2 is 2.0 (io.prometheus.write.v2.Request). It falls back as
	// MessageAuto does, except that a 400 always speaks of the data.
	MessageV2
)

// Defaults of DestinationOptions, those of Prometheus.
const (
	DefaultRemoteTimeout     = 30 * time.Second
	DefaultMaxSamplesPerSend = 2000
	// DefaultMaxBytesPerSend keeps requests with large histograms far below what
	// receivers read: 32 MiB, mostly.
	DefaultMaxBytesPerSend = 4 << 20
	// DefaultShards allows 320 requests a second to a far end 100 ms away.
	DefaultShards       = 32
	DefaultBatchMaxWait = 5 * time.Millisecond
	DefaultTenantHeader = "X-Scope-OrgID"
	DefaultMinBackoff   = 30 * time.Millisecond
	DefaultMaxBackoff   = 5 * time.Second
)

// DefaultMaxSeries is the default of [Options].MaxSeries: some 2 GiB when full,
// with labels of usual length.
const DefaultMaxSeries = 4 << 20

// DestinationOptions describes one far end. The fields follow Prometheus's
// remote_write block; start from [DefaultDestinationOptions].
type DestinationOptions struct {
	// URL is where to POST; required.
	URL string
	// Name is the destination in logs and metrics, by default the URL's host.
	// Names are unique.
	Name string
	// Headers are added to every request. Those that the protocol sets cannot
	// be among them.
	Headers map[string]string
	// RemoteTimeout bounds one attempt, overriding the default of 30 s.
	RemoteTimeout time.Duration
	// WriteRelabelConfigs run once for every series, after external labels. A
	// series that they drop counts as accepted.
	WriteRelabelConfigs []*relabel.Config
	// SendExemplars sends exemplars along with their samples.
	SendExemplars bool
	// SendNativeHistograms sends native histograms; otherwise they are dropped
	// and counted.
	SendNativeHistograms bool
	// ProtobufMessage is by default 2.0 with fallback.
	ProtobufMessage Message
	// ConvertNHCBToClassic sends histograms with custom buckets as classic
	// _bucket, _sum and _count series, whatever the message. Without it they
	// travel in 2.0 only, and are dropped and counted in 1.0.
	ConvertNHCBToClassic bool
	// TenantHeader is the header that tells the tenant of a request, overriding
	// the default of X-Scope-OrgID.
	TenantHeader string
	// HTTPClientConfig holds authentication, TLS, proxies and redirects.
	HTTPClientConfig config.HTTPClientConfig
	// SigV4 signs requests for AWS; nil signs nothing.
	SigV4 *sigv4.SigV4Config
	// MaxSamplesPerSend bounds one request, overriding the default of 2000.
	MaxSamplesPerSend int
	// MaxBytesPerSend bounds the samples of one request, as they are before
	// compression and without labels, overriding the default of 4 MiB.
	MaxBytesPerSend int
	// BatchMaxWait is how long samples wait for others to share a request with
	// while requests to the destination are in flight; with none in flight they
	// do not wait. The default is 5 ms, zero waits for nobody.
	BatchMaxWait time.Duration
	// Shards is how many requests may be in flight at once, overriding the
	// default of 32. No two of them carry samples of one target.
	Shards int
	// SendMetadata sends type, help and unit along with the samples.
	SendMetadata bool
	// SendStartTimestamps sends start times in 2.0.
	SendStartTimestamps bool
	// ZeroSamples adds, in 1.0, a zero at the start time of a counter or histogram
	// whose start the destination has not seen: 1.0 has no start timestamps.
	ZeroSamples bool
	// EscapeNames escapes what is outside of [a-zA-Z0-9_:] in names in 2.0 too,
	// for receivers of 2.0 that take no UTF-8 names. 1.0 always escapes.
	EscapeNames bool
	// MinBackoff and MaxBackoff bound the pause before an attempt is repeated,
	// overriding the defaults of 30 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// Required makes every commit wait for this destination. One that is not
	// required is sent to once, and its failures are only counted.
	Required bool
}

// DefaultDestinationOptions returns what a destination is without any setting
// but its URL: required, 2.0 with fallback, everything sent that the message can
// carry, redirects followed.
func DefaultDestinationOptions(url string) DestinationOptions {
	return DestinationOptions{
		URL:                  url,
		RemoteTimeout:        DefaultRemoteTimeout,
		SendExemplars:        true,
		SendNativeHistograms: true,
		SendMetadata:         true,
		SendStartTimestamps:  true,
		BatchMaxWait:         DefaultBatchMaxWait,
		Shards:               DefaultShards,
		MaxBytesPerSend:      DefaultMaxBytesPerSend,
		TenantHeader:         DefaultTenantHeader,
		HTTPClientConfig:     config.HTTPClientConfig{FollowRedirects: true},
		MaxSamplesPerSend:    DefaultMaxSamplesPerSend,
		MinBackoff:           DefaultMinBackoff,
		MaxBackoff:           DefaultMaxBackoff,
		Required:             true,
	}
}

// Options configures a [Group].
type Options struct {
	// Destinations lists the far ends, at least one.
	Destinations []DestinationOptions
	// ExternalLabels are added to every series that does not have them.
	ExternalLabels labels.Labels
	// MaxSeries is about how many series are held between requests, overriding
	// the default of 4 Mi. More are sent, at the price of a look-up by labels.
	MaxSeries int
	// Version is the version of the program, for the User-Agent header.
	Version string
	// Logger, by default slog's.
	Logger *slog.Logger
	// Registerer takes the room's metrics; nil registers nothing.
	Registerer prometheus.Registerer
	// Clock is what time it is and how to wait, by default the machine's.
	Clock Clock
}

// Clock tells the time and waits, so that tests of pauses need none.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// Sleep returns after d, or earlier with ctx's error.
	Sleep(ctx context.Context, d time.Duration) error
}

// WallClock is the machine's clock.
type WallClock struct{}

// Now returns the machine's time.
func (WallClock) Now() time.Time { return time.Now() }

// Sleep waits for d or until ctx ends.
func (WallClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
