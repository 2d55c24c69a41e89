package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage"
)

// errOpening says why nothing but the admin pages is served yet.
var errOpening = errors.New("the store is still opening")

// opened is what stands behind the gateway once the store has opened.
type opened struct {
	backend  storage.Backend
	pipeline *converter.Pipeline
	api      http.Handler // nil for a backend that answers no queries
}

// opening stands behind the gateway from the start, so that the admin pages
// are served while the store opens, whose log may take minutes to replay. It is
// safe for concurrent use.
type opening struct{ to atomic.Pointer[opened] }

// Push passes a request on, or tells the client to come back.
func (o *opening) Push(ctx context.Context, r converter.Request) (converter.Report, error) {
	if x := o.to.Load(); x != nil {
		return x.pipeline.Push(ctx, r)
	}
	if r.Converted != nil {
		r.Converted()
	}
	return converter.Report{}, storage.Unavailable(errOpening, 0)
}

// ready returns nil when the store takes samples, otherwise why not.
func (o *opening) ready() error {
	if x := o.to.Load(); x != nil {
		return x.backend.Ready()
	}
	return errOpening
}

// inspected returns what the debug pages show, nil while there is nothing.
func (o *opening) inspected() inspected {
	if x := o.to.Load(); x != nil {
		return x.pipeline
	}
	return nil
}

// ServeHTTP answers queries.
func (o *opening) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := o.to.Load()
	if x == nil {
		http.Error(w, errOpening.Error(), http.StatusServiceUnavailable)
		return
	}
	x.api.ServeHTTP(w, r)
}
