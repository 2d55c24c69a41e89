package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/otlpgw/otlpgw/pool"
)

// Gateway serves OTLP and the admin pages. It is safe for concurrent use. Its
// life: [New], the Run methods on listeners that the caller has opened,
// [Gateway.Drain], [Gateway.Close].
type Gateway struct {
	o         Options
	logger    *slog.Logger
	metrics   *metrics
	gate      gate
	slots     *slots
	exchanges *pool.Pool[*exchange]
	rules     atomic.Pointer[rules]
	tenants   tenants

	httpServer  *http.Server
	grpcServer  *grpc.Server
	adminServer *http.Server

	mu            sync.Mutex
	httpListeners []net.Listener

	// draining is set once; drained is closed with it.
	draining atomic.Bool
	drained  chan struct{}
	inFlight inFlight

	// warned holds the signals whose arrival at the wrong place was logged.
	warned sync.Map
}

// Timeouts and bounds of the servers that nobody has needed to set.
const (
	// readHeaderTimeout is how long a header may take.
	readHeaderTimeout = 10 * time.Second
	// idleTimeout is how long a connection is kept without a request. SDKs
	// export once a minute by default, and a new connection each time costs
	// both ends more than an idle one.
	idleTimeout = 5 * time.Minute
	// maxHeaderBytes bounds the header of a request.
	maxHeaderBytes = 64 << 10
)

// New returns a Gateway that serves nothing yet.
func New(o Options) (*Gateway, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		o:        o,
		logger:   o.Logger,
		slots:    newSlots(o.ConversionSlots, o.SlotWait),
		drained:  make(chan struct{}),
		inFlight: newInFlight(),
	}
	g.rules.Store(newRules(o.Settings))
	g.gate.max = o.MaxInFlightBytes
	g.exchanges = pool.New(g.newExchange, func(*exchange) bool { return true })
	if g.metrics, err = newMetrics(o.Registerer, &g.gate, &g.tenants); err != nil {
		return nil, fmt.Errorf("registering the gateway's metrics: %w", err)
	}
	// net/http tells about hostile clients in this log; at debug, since nobody
	// can do anything about them.
	errorLog := slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)
	g.httpServer = &http.Server{
		Handler:           g.Handler(),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       o.RequestTimeout,
		// Twice, so that it ends a client that does not read its answer and not a
		// slow request.
		WriteTimeout:   2 * o.RequestTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       errorLog,
	}
	g.grpcServer = g.newGRPCServer()
	g.adminServer = &http.Server{
		Handler:           g.AdminHandler(),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          errorLog,
	}
	return g, nil
}

// RunHTTP serves OTLP/HTTP on l until [Gateway.Drain] or [Gateway.Close],
// and then returns nil. It closes l.
func (g *Gateway) RunHTTP(l net.Listener) error {
	g.mu.Lock()
	g.httpListeners = append(g.httpListeners, l)
	g.mu.Unlock()
	if g.draining.Load() {
		// Drain may have closed it.
		_ = l.Close()
		return nil
	}
	if err := g.httpServer.Serve(l); err != nil && !g.draining.Load() && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving OTLP/HTTP on %s: %w", l.Addr(), err)
	}
	return nil
}

// RunGRPC serves OTLP/gRPC on l until [Gateway.Drain] or [Gateway.Close],
// and then returns nil. It closes l.
func (g *Gateway) RunGRPC(l net.Listener) error {
	if err := g.grpcServer.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving OTLP/gRPC on %s: %w", l.Addr(), err)
	}
	return nil
}

// RunAdmin serves the admin pages on l until [Gateway.Close], and then
// returns nil. It closes l. It goes on while the gateway drains.
func (g *Gateway) RunAdmin(l net.Listener) error {
	if err := g.adminServer.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the admin pages on %s: %w", l.Addr(), err)
	}
	return nil
}

// ready returns nil when requests are welcome, otherwise why not.
func (g *Gateway) ready() error {
	if g.draining.Load() {
		return errors.New("shutting down")
	}
	return g.o.Ready()
}
