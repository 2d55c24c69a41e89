package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage"
)

// errOpening says why nothing but the admin pages is served yet.
var errOpening = errors.New("the store is still opening")

// stage stands behind the gateway from the start and passes requests on to the
// generation that is in force: none while the store opens, whose log may take
// minutes to replay. It is safe for concurrent use.
type stage struct{ now atomic.Pointer[generation] }

// enter returns the generation in force, which will not end before it is left.
func (s *stage) enter() *generation {
	for {
		g := s.now.Load()
		if g == nil {
			return nil
		}
		g.enter()
		if s.now.Load() == g {
			return g
		}
		// Replaced meanwhile, and perhaps found without requests before.
		g.leave()
	}
}

// Push passes a request on, or tells the client to come back.
func (s *stage) Push(ctx context.Context, r converter.Request) (converter.Report, error) {
	g := s.enter()
	if g == nil {
		return notYet(r, errOpening)
	}
	defer g.leave()
	select {
	case <-g.open:
	default:
		// A reload has just been; those that came before it are being answered.
		select {
		case <-g.open:
		case <-ctx.Done():
			return notYet(r, fmt.Errorf("waiting for requests from before a reload: %w", ctx.Err()))
		}
	}
	return g.pipeline.Push(ctx, r)
}

// notYet answers a request that goes nowhere.
func notYet(r converter.Request, why error) (converter.Report, error) {
	if r.Converted != nil {
		r.Converted()
	}
	return converter.Report{}, storage.Unavailable(why, 0)
}

// ready returns nil when the store takes samples, otherwise why not.
func (s *stage) ready() error {
	g := s.enter()
	if g == nil {
		return errOpening
	}
	defer g.leave()
	return g.backend.Ready()
}

// inspected returns what the debug pages show, nil while there is nothing.
func (s *stage) inspected() inspected {
	if g := s.now.Load(); g != nil {
		return g.pipeline
	}
	return nil
}

// ServeHTTP answers queries. The store that is asked is the same in every
// generation.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := s.now.Load()
	if g == nil {
		http.Error(w, errOpening.Error(), http.StatusServiceUnavailable)
		return
	}
	g.api.ServeHTTP(w, r)
}
