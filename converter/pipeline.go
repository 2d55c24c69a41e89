package converter

import (
	"context"
	"errors"
)

// Pipeline takes OTLP requests to a backend. It is safe for concurrent use.
type Pipeline struct{}

// New returns a Pipeline. It does nothing on its own until [Pipeline.Run].
func New(o Options) (*Pipeline, error) {
	return nil, errors.New("under construction")
}

// Run ages out what the cache no longer needs, until ctx ends.
func (p *Pipeline) Run(ctx context.Context) {}

// Push converts one request, appends it to the backend and commits. It returns
// when the backend has answered. The error is a [*DecodeError] for a body that
// is no OTLP, a [*storage.Error] when nothing was stored and the client should
// retry, and anything else for a bug of ours.
func (p *Pipeline) Push(ctx context.Context, req Request) (Report, error) {
	return Report{}, errors.New("under construction")
}
