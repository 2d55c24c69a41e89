package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otlpgw/otlpgw/converter"
)

// Pusher takes one request to wherever series go and returns when the answer
// is known. It must honour the contract of [converter.Request]: the body is
// not touched after Push returns. [converter.Pipeline] is one.
type Pusher interface {
	Push(context.Context, converter.Request) (converter.Report, error)
}

// Defaults of [Options].
const (
	// DefaultMaxRequestSize is what the OTLP specification recommends, in bytes.
	DefaultMaxRequestSize = 64 << 20
	// DefaultMaxJSONSize is lower: reading JSON costs several times as much per
	// byte, and it takes more bytes to say the same.
	DefaultMaxJSONSize = 16 << 20
	// DefaultMaxInFlightBytes is a quarter of 1 GiB; whoever knows the memory
	// limit gives a quarter of that.
	DefaultMaxInFlightBytes = 256 << 20
	// DefaultJSONWeight is how many bytes in flight one byte of OTLP/JSON counts
	// for: itself, and the protobuf that is made of it. That is two thirds of
	// the text for ordinary SDK output and at most four times the text, for
	// documents of nothing but one-digit numbers.
	DefaultJSONWeight = 5
	// DefaultSlotWait is below the 10 s after which OTLP exporters give up.
	DefaultSlotWait = 5 * time.Second
	// DefaultRequestTimeout covers a 64 MiB body at 10 Mbit/s.
	DefaultRequestTimeout = time.Minute
	// DefaultStallTimeout is far more than a network that works is ever silent.
	DefaultStallTimeout = 10 * time.Second
)

// Options configures a [Gateway]. Only Pusher is required. Negative numbers
// are invalid; zero means the default.
type Options struct {
	// Pusher takes the requests; required.
	Pusher Pusher
	// Logger, by default slog's.
	Logger *slog.Logger
	// Registerer takes the room's metrics; nil registers nothing.
	Registerer prometheus.Registerer

	// Settings can be changed later, by [Gateway.Set].
	Settings

	// MaxInFlightBytes bounds the weight of the requests between their first
	// byte and their answer, in bytes; by default 256 MiB. A request weighs its
	// buffers. One that is alone is always admitted, so that no setting makes a
	// legal request impossible.
	MaxInFlightBytes int64
	// JSONWeight is what one inflated byte of OTLP/JSON weighs; by default 5.
	JSONWeight int64
	// ConversionSlots bounds the requests being inflated and converted at once,
	// overriding the default of twice the CPUs.
	ConversionSlots int
	// SlotWait bounds the wait for a conversion slot; by default 5 s. A request
	// that waited so long is answered as busy.
	SlotWait time.Duration
	// RequestTimeout bounds the time from a request's header to its answer; by
	// default one minute. It ends requests whose bytes do not come.
	RequestTimeout time.Duration
	// StallTimeout bounds the time in which nothing of a body arrives; by
	// default 10 s. It is a fifth of that while memory for requests is short: a
	// body that does not come holds some of it.
	StallTimeout time.Duration

	// Ready says whether the rest of the process can take requests: nil if so,
	// otherwise why not. It must be cheap. Nil is always ready.
	Ready func() error
	// Gatherer is what /metrics shows, by default the default gatherer.
	Gatherer prometheus.Gatherer
	// Config returns the effective configuration as YAML, secrets redacted,
	// for /-/config. Nil leaves the page out.
	Config func() []byte
	// Reload reads the configuration again, for POST /-/reload. Its error goes
	// to whoever asked. Nil leaves the page out.
	Reload func() error
	// API serves /api/v1/ on the admin listener. Nil leaves it out.
	API http.Handler
	// Pages are further pages of the admin listener.
	Pages []Page
}

// Page is a page of the admin listener: GET Path is served by Handler, and the
// index says What it shows.
type Page struct {
	Path, What string
	Handler    http.Handler
}

// withDefaults returns o with every zero replaced, or all that is wrong with it.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.Pusher == nil {
		bad("gateway.Options.Pusher is required")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Gatherer == nil {
		o.Gatherer = prometheus.DefaultGatherer
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	for _, v := range []struct {
		name string
		p    *int64
		def  int64
		max  int64
	}{
		{"MaxInFlightBytes", &o.MaxInFlightBytes, DefaultMaxInFlightBytes, math.MaxInt64 / 2},
		{"JSONWeight", &o.JSONWeight, DefaultJSONWeight, 1 << 10},
	} {
		if *v.p == 0 {
			*v.p = v.def
		}
		if *v.p < 0 || *v.p > v.max {
			bad("gateway.Options.%s is %d, want 1 to %d", v.name, *v.p, v.max)
		}
	}
	if o.ConversionSlots == 0 {
		o.ConversionSlots = 2 * runtime.GOMAXPROCS(0)
	}
	if o.ConversionSlots < 0 {
		bad("gateway.Options.ConversionSlots is %d, want at least 1", o.ConversionSlots)
	}
	if o.SlotWait == 0 {
		o.SlotWait = DefaultSlotWait
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = DefaultRequestTimeout
	}
	if o.StallTimeout == 0 {
		o.StallTimeout = DefaultStallTimeout
	}
	if o.SlotWait < 0 || o.RequestTimeout < 0 || o.StallTimeout < 0 {
		bad("gateway.Options.SlotWait (%s), RequestTimeout (%s) and StallTimeout (%s) must be positive", o.SlotWait, o.RequestTimeout, o.StallTimeout)
	}
	var err error
	if o.Settings, err = o.Settings.withDefaults(); err != nil {
		errs = append(errs, err)
	}
	return o, errors.Join(errs...)
}
