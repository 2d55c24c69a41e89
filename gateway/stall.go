package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// stallTimeout is how long a body may be silent now.
func (g *Gateway) stallTimeout() time.Duration {
	if g.gate.short() {
		return g.o.StallTimeout / 5
	}
	return g.o.StallTimeout
}

// arriving reads the body of an HTTP request, whose next bytes must come within
// the stall timeout and whose last within the request timeout.
type arriving struct {
	g    *Gateway
	body io.Reader
	conn interface{ SetReadDeadline(time.Time) error } // nil if there are no deadlines
	end  time.Time
}

// arrive makes a the reader of r's body.
func (a *arriving) arrive(g *Gateway, w http.ResponseWriter, r *http.Request) {
	a.g, a.body, a.end = g, r.Body, time.Now().Add(g.o.RequestTimeout)
	a.conn, _ = w.(interface{ SetReadDeadline(time.Time) error })
}

// Read reads bytes as they come.
func (a *arriving) Read(p []byte) (int, error) {
	if a.conn != nil {
		by := time.Now().Add(a.g.stallTimeout())
		if by.After(a.end) {
			by = a.end
		}
		// A connection that is gone says so when it is read.
		_ = a.conn.SetReadDeadline(by)
	}
	return a.body.Read(p)
}

// done ends the reading. A request whose body is there has time left; of one
// whose body is not, nobody waits for more.
func (a *arriving) done(complete bool) {
	if a.conn != nil && complete {
		// As above.
		_ = a.conn.SetReadDeadline(a.end)
	}
	*a = arriving{}
}

// errStalled is why a call was cancelled whose message did not come.
var errStalled = errors.New("the message stopped arriving")

type stallKey struct{}

// stallable returns a context by which [watch] can end the call.
func stallable(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, stallKey{}, cancel)
}

// watch ends the call of ctx unless the timer it returns is reset or stopped in
// time. It returns nil for a context that is not stallable.
func (g *Gateway) watch(ctx context.Context) *time.Timer {
	cancel, ok := ctx.Value(stallKey{}).(context.CancelCauseFunc)
	if !ok {
		return nil
	}
	return time.AfterFunc(g.stallTimeout(), func() { cancel(errStalled) })
}
