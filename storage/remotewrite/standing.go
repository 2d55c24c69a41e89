package remotewrite

import (
	"sync"
	"time"

	"github.com/otlpgw/otlpgw/storage"
)

// standing is how a tenant stands with a destination: what it was told to wait,
// and whether it is known there at all. One tenant's limits and faults are not
// another's.
type standing struct {
	circuit circuit
	hold    hold
}

// standings are those of all tenants; the zero value is ready. It is safe for
// concurrent use. There are as many as tenants are admitted.
type standings struct {
	hold hold // what the destination asked of everybody
	none standing
	byID sync.Map
}

// of returns the standing of a tenant, or that of requests without one.
func (s *standings) of(tenant string) *standing {
	if tenant == "" {
		return &s.none
	}
	if st, ok := s.byID.Load(tenant); ok {
		return st.(*standing)
	}
	st, _ := s.byID.LoadOrStore(tenant, &standing{})
	return st.(*standing)
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
