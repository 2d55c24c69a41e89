package remotewrite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
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
	standings  standings
	outage     outage
	recent     recent
	collisions collisions
	zeros      zeros
	troubles   atomic.Int64 // outages and open circuits
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
	o.TenantHeader = cmp.Or(o.TenantHeader, DefaultTenantHeader)
	if err := checkHeaders(map[string]string{o.TenantHeader: ""}); err != nil {
		faults = append(faults, fmt.Errorf("tenant header: %w", err))
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
// end asked for if that is over before the deadline. st is the tenant's.
func (d *Destination) admit(ctx context.Context, deadline time.Time, st *standing) *storage.Error {
	for {
		now := d.clock.Now()
		if !now.Before(deadline) {
			return storage.Unavailable(fmt.Errorf("%s: no answer in time", d.name), 0)
		}
		pause, kind := d.standings.hold.left(now)
		if own, k := st.hold.left(now); own > pause {
			pause, kind = own, k
		}
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
	if pause := st.circuit.admit(d.clock.Now()); pause > 0 {
		return storage.Unavailable(fmt.Errorf("%s: left alone after an answer that speaks of its configuration", d.name), pause)
	}
	return nil
}

// answered keeps what an attempt tells about the destination itself.
func (d *Destination) answered(a *answer, v verdict, st *standing) {
	fault, other := v == misconfigured, v != misconfigured && a.err == nil
	now := d.clock.Now()
	changed := st.circuit.answered(now, fault, other)
	began, ended := d.outage.answered(now, v == unavailable, d.o.MinBackoff)
	var open int64
	if began || changed && fault {
		open++
	}
	if ended || changed && !fault {
		open--
	}
	if open != 0 {
		left := d.troubles.Add(open)
		d.metrics.circuit.Set(float64(min(1, max(0, left))))
		if left == 0 {
			d.log.log.Info("destination is sent to again")
		}
	}
	if reason := failure(a, v); reason != "" {
		d.metrics.failed[reason].Inc()
		if level, msg := complaint(v); msg != "" {
			d.log.write(v, level, msg, slog.String("answer", a.String()))
		}
	}
	switch v {
	case unavailable:
		d.standings.hold.set(now, a.retryAfter, false)
	case throttled:
		st.hold.set(now, a.retryAfter, true) // limits are a tenant's own
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
