package direct

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// Defaults of Options.
const (
	DefaultAckTimeout = 5 * time.Second
	// DefaultLines is more than most gateways have requests in flight, so that
	// few targets wait for another.
	DefaultLines           = 128
	DefaultMaxPendingBytes = 256 << 20
)

// Options configures a [Backend].
type Options struct {
	// Destinations lists the far ends, at least one; see
	// [remotewrite.DefaultDestinationOptions].
	Destinations []remotewrite.DestinationOptions
	// ExternalLabels are added to every series that does not have them.
	ExternalLabels labels.Labels
	// TenantOf says whose a transaction is, by the context of AppenderV2; nil is
	// nobody's. No request to a destination has samples of two tenants.
	TenantOf func(context.Context) string
	// AckTimeout bounds Commit, overriding the default of 5 s. The deadline of
	// the transaction's context counts if it is sooner.
	AckTimeout time.Duration
	// Lines is how many orders are kept apart, overriding the default of 128: a
	// target belongs to one, and what a line holds goes out one after the other.
	Lines int
	// MaxPendingBytes bounds what transactions hold in memory until their
	// commit has returned, overriding the default of 256 MiB. Beyond it appends
	// fail as unavailable. What a transaction holds beyond it by itself is
	// refused: no retry would help.
	MaxPendingBytes int64
	// MaxTenantBytes bounds what the transactions of one tenant hold likewise, by
	// default no less than all may.
	MaxTenantBytes int64
	// MaxSeries is about how many series are held between requests, overriding
	// the default of 4 Mi. More are sent, at the price of a look-up by labels.
	MaxSeries int
	// Version is the version of the program, for the User-Agent header.
	Version string
	// Logger, by default slog's.
	Logger *slog.Logger
	// Registerer takes the metrics of storage/remotewrite; nil registers nothing.
	Registerer prometheus.Registerer
	// Clock is what the far end's pauses are measured by, by default the
	// machine's.
	Clock remotewrite.Clock
}
