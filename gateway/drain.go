package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// lateGrace is how long connections that have sent nothing are kept, once
	// every request is answered: long enough for one that was under way.
	lateGrace = time.Second
	// cutOffGrace is how long handlers whose clients were cut off get to return.
	cutOffGrace = 2 * time.Second
)

// inFlight counts requests and can be waited for.
type inFlight struct {
	n    atomic.Int64
	zero chan struct{} // holds a token some time after n became 0
}

func newInFlight() inFlight { return inFlight{zero: make(chan struct{}, 1)} }

func (f *inFlight) begin() { f.n.Add(1) }

func (f *inFlight) end() {
	if f.n.Add(-1) == 0 {
		select {
		case f.zero <- struct{}{}:
		default:
		}
	}
}

// wait returns when nothing is in flight, or with the error of ctx.
func (f *inFlight) wait(ctx context.Context) error {
	for f.n.Load() > 0 {
		select {
		case <-f.zero:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// enter begins a request, unless the gateway drains; leave ends it.
func (g *Gateway) enter() error {
	g.inFlight.begin()
	if !g.draining.Load() {
		return nil
	}
	g.inFlight.end()
	g.metrics.refused[refusedDraining].Inc()
	return &failure{outcomeBusy, "the gateway is shutting down"}
}

func (g *Gateway) leave() { g.inFlight.end() }

// Drain ends the serving of OTLP without losing an answer: the gateway is no
// longer ready, new connections are not accepted, requests that come late on
// old ones are told to come back, those in flight are finished, and then the
// connections are closed. When ctx ends first, what is left is cut off and the
// error says so. The admin pages stay, see [Gateway.Close].
func (g *Gateway) Drain(ctx context.Context) error {
	if !g.draining.Swap(true) {
		close(g.drained)
	}
	// Not http.Server.Shutdown yet: it would reset whoever is just sending.
	g.mu.Lock()
	for _, l := range g.httpListeners {
		// Closed already on a second call, and nothing to be done about it.
		_ = l.Close()
	}
	g.mu.Unlock()
	grpcDone := make(chan struct{})
	go func() {
		defer close(grpcDone)
		g.grpcServer.GracefulStop()
	}()

	err := g.inFlight.wait(ctx)
	if err == nil {
		// Shutdown closes idle connections at once, and some of them carry a
		// request that nobody has read yet: it gets its answer first.
		select {
		case <-time.After(lateGrace):
		case <-ctx.Done():
		}
		late, cancel := context.WithTimeout(ctx, lateGrace)
		// An error leaves connections without a request, and Close ends those.
		_ = g.httpServer.Shutdown(late)
		select {
		case <-grpcDone:
		case <-late.Done():
		}
		cancel()
	}
	left := g.inFlight.n.Load()
	// Both cancel the contexts of the requests they cut off.
	closeErr := g.httpServer.Close()
	g.grpcServer.Stop()
	<-grpcDone
	if err == nil {
		return closeErr
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutOffGrace)
	defer cancel()
	// Those who do not return even then lose their answer and nothing else.
	_ = g.inFlight.wait(last)
	return errors.Join(fmt.Errorf("%d requests in flight were cut off: %w", left, err), closeErr)
}

// Close ends everything at once, the admin pages too. After [Gateway.Drain]
// only those are left.
func (g *Gateway) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(g.Drain(ctx), g.adminServer.Close())
}
