package remotewrite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otlpgw/otlpgw/storage"
)

// Destination is one far end and what is known about it: which message it
// takes, whether it asked for a pause, whether it is misconfigured. It is safe
// for concurrent use; the requests themselves go through a [Sender] each.
type Destination struct {
	o       DestinationOptions
	name    string
	index   int
	url     *url.URL
	agent   string
	client  *http.Client
	clock   Clock
	log     *limitedLog
	metrics destinationMetrics

	table      *Table
	protocol   protocol
	circuit    circuit
	outage     outage
	recent     recent
	hold       hold
	collisions collisions
	zeros      zeros
	oldest     atomic.Pointer[func() time.Time]
}

func newDestination(o DestinationOptions, i int, names map[string]bool, all *Options, m *metrics) (*Destination, error) {
	var faults []error
	target, err := parseTarget(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Name, err = destinationName(o.Name, target.Host, i, names); err != nil {
		faults = append(faults, err)
	}
	if err := checkHeaders(o.Headers); err != nil {
		faults = append(faults, err)
	}
	if o.ProtobufMessage > MessageV2 {
		faults = append(faults, fmt.Errorf("protobuf_message: unknown message %d", o.ProtobufMessage))
	}
	o.RemoteTimeout = orDefault(o.RemoteTimeout, DefaultRemoteTimeout)
	o.MaxSamplesPerSend = orDefault(o.MaxSamplesPerSend, DefaultMaxSamplesPerSend)
	o.MaxBytesPerSend = orDefault(o.MaxBytesPerSend, DefaultMaxBytesPerSend)
	o.Shards = orDefault(o.Shards, DefaultShards)
	o.MinBackoff = orDefault(o.MinBackoff, DefaultMinBackoff)
	o.MaxBackoff = max(orDefault(o.MaxBackoff, DefaultMaxBackoff), o.MinBackoff)
	client, err := newClient(&o, target)
	if err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &Destination{
		o: o, name: o.Name, index: i, url: target, client: client,
		agent:   "otlpgw/" + all.Version,
		clock:   all.Clock,
		log:     &limitedLog{log: all.Logger.With(slog.String("destination", o.Name)), now: all.Clock.Now},
		metrics: m.of(o.Name),

		protocol: protocol{message: o.ProtobufMessage},
		recent:   recent{clock: all.Clock},
		zeros:    zeros{began: all.Clock.Now().UnixMilli()},
	}, nil
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Name returns what the destination is called in logs and metrics.
func (d *Destination) Name() string { return d.name }

// Options returns the destination's options, with the defaults filled in.
func (d *Destination) Options() DestinationOptions { return d.o }

// Required reports whether a commit waits for the destination.
func (d *Destination) Required() bool { return d.o.Required }

// AddPending moves the gauge of bytes that wait for the destination.
func (d *Destination) AddPending(n int64) { d.metrics.pending.Add(float64(n)) }

// Lost counts samples that a destination which is not required did not get.
func (d *Destination) Lost(n int) { d.metrics.dropped[dropLost].Add(float64(n)) }

// OnOldest sets where the age of what waits for the destination is asked for:
// f returns since when the oldest has waited, or zero.
func (d *Destination) OnOldest(f func() time.Time) { d.oldest.Store(&f) }

// admit returns nil when a request may go out now, after the pause that the far
// end asked for if that is over before the deadline.
func (d *Destination) admit(ctx context.Context, deadline time.Time) *storage.Error {
	for {
		now := d.clock.Now()
		if !now.Before(deadline) {
			return storage.Unavailable(fmt.Errorf("%s: no answer in time", d.name), 0)
		}
		pause, kind := d.hold.left(now)
		if pause <= 0 {
			break
		}
		if !now.Add(pause).Before(deadline) {
			return &storage.Error{Kind: kind, RetryAfter: pause, Err: fmt.Errorf("%s: asked not to be sent to for %s", d.name, pause)}
		}
		if err := d.clock.Sleep(ctx, pause); err != nil {
			return storage.Unavailable(fmt.Errorf("%s: %w", d.name, err), 0)
		}
	}
	for {
		now := d.clock.Now()
		wait, over := d.outage.admit(now)
		if wait <= 0 {
			break
		}
		left := deadline.Sub(now)
		if left <= 0 {
			return storage.Unavailable(fmt.Errorf("%s: away", d.name), 0)
		}
		if err := d.rest(ctx, min(wait, left), over); err != nil {
			return storage.Unavailable(fmt.Errorf("%s: %w", d.name, err), 0)
		}
	}
	// Last, since who is admitted as the probe must come back with an answer.
	if pause := d.circuit.admit(d.clock.Now()); pause > 0 {
		return storage.Unavailable(fmt.Errorf("%s: left alone after an answer that speaks of its configuration", d.name), pause)
	}
	return nil
}

// answered keeps what an attempt tells about the destination itself.
func (d *Destination) answered(a *answer, v verdict) {
	fault, other := v == misconfigured, v != misconfigured && a.err == nil
	now := d.clock.Now()
	changed := d.circuit.answered(now, fault, other)
	began, ended := d.outage.answered(now, v == unavailable, d.o.MinBackoff)
	if began || changed && fault {
		d.metrics.circuit.Set(1)
	}
	if ended && !fault || changed && !fault {
		d.metrics.circuit.Set(0)
		d.log.log.Info("destination is sent to again")
	}
	if reason := failure(a, v); reason != "" {
		d.metrics.failed[reason].Inc()
		if level, msg := complaint(v); msg != "" {
			d.log.write(v, level, msg, slog.String("answer", a.String()))
		}
	}
	if v == unavailable || v == throttled {
		d.hold.set(d.clock.Now(), a.retryAfter, v == throttled)
	}
}

func failure(a *answer, v verdict) string {
	switch v {
	case refused, doubtful:
		return failRefused
	case tooLarge:
		return failTooLarge
	case throttled:
		return failThrottled
	case unknown:
		return failUnsupported
	case misconfigured:
		return failMisconfigured
	case unavailable:
		if a.err != nil {
			return failNetwork
		}
		return failUnavailable
	}
	return ""
}

// complaint is what the log says about a failed attempt.
func complaint(v verdict) (slog.Level, string) {
	switch v {
	case misconfigured:
		return slog.LevelError, "remote write: the destination's answer speaks of its configuration (URL, credentials), clients are told to retry"
	case refused:
		return slog.LevelWarn, "remote write: data refused"
	case unavailable, throttled:
		return slog.LevelWarn, "remote write: attempt failed"
	}
	return 0, ""
}

// hold is the pause that a far end asked for by Retry-After. It is safe for
// concurrent use.
type hold struct {
	mu        sync.Mutex
	until     time.Time
	throttled bool
}

func (h *hold) set(now time.Time, pause time.Duration, throttled bool) {
	if pause <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if until := now.Add(pause); until.After(h.until) {
		h.until, h.throttled = until, throttled
	}
}

func (h *hold) left(now time.Time) (time.Duration, storage.Kind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.throttled {
		return h.until.Sub(now), storage.KindThrottled
	}
	return h.until.Sub(now), storage.KindUnavailable
}
