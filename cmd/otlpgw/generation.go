package main

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage"
)

// generation is what a configuration made of the way from the gateway to the
// store. A reload that changes that way makes a new one beside it; the old one
// ends when it has answered its last request.
type generation struct {
	backend storage.Backend
	// borrowed says that the backend was open before: a database is opened once.
	borrowed bool
	pipeline *converter.Pipeline
	api      http.Handler         // nil for a backend that answers no queries
	reg      *prometheus.Registry // metrics that end with the generation

	// open is closed when the generation before has answered its last request.
	// Two at work at once could bring the samples of one series to the store in
	// the wrong order.
	open chan struct{}

	requests atomic.Int64
	// drained holds a token some time after requests became 0.
	drained chan struct{}

	stopSweep context.CancelFunc
	swept     chan struct{}
}

func newGeneration() *generation {
	return &generation{reg: prometheus.NewRegistry(), open: make(chan struct{}), drained: make(chan struct{}, 1)}
}

// sweep starts what the pipeline does in the background.
func (g *generation) sweep() {
	ctx, cancel := context.WithCancel(context.Background())
	g.stopSweep, g.swept = cancel, make(chan struct{})
	go func() {
		defer close(g.swept)
		g.pipeline.Run(ctx)
	}()
}

// stop ends what sweep started.
func (g *generation) stop() {
	g.stopSweep()
	<-g.swept
}

func (g *generation) enter() { g.requests.Add(1) }

func (g *generation) leave() {
	if g.requests.Add(-1) == 0 {
		select {
		case g.drained <- struct{}{}:
		default:
		}
	}
}

// drain returns when no request is in flight, or with the error of ctx. The
// generation is no longer the stage's.
func (g *generation) drain(ctx context.Context) error {
	for g.requests.Load() > 0 {
		select {
		case <-g.drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
