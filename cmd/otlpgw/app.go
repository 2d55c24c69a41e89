package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/gateway"
	"github.com/otlpgw/otlpgw/storage"
)

// starting is what a process is started with.
type starting struct {
	config *config.Loaded
	// load reads the configuration again.
	load func() (*config.Loaded, error)
	// hangup delivers SIGHUP, by which people ask for that.
	hangup <-chan os.Signal
	logger *slog.Logger
	level  *slog.LevelVar // the logger's
}

// serve runs the gateway until ctx ends or a listener fails, and then ends it
// in order. It returns nil when everything that was accepted was answered and
// the store is closed.
func serve(ctx context.Context, s starting) error {
	s.logger.Info("starting otlpgw", "version", version, "storage_mode", s.config.Mode())
	tellAbout(s.config, s.logger)
	// Addresses first: a port that is taken is known before a store is opened,
	// whose log may take minutes to replay.
	l, err := listen(s.config)
	if err != nil {
		return err
	}
	defer l.close()
	a, err := newApp(s)
	if err != nil {
		return err
	}
	return a.run(ctx, l)
}

// tellAbout logs what the operator should know about the configuration.
func tellAbout(c *config.Loaded, logger *slog.Logger) {
	if len(c.Ignored) > 0 {
		logger.Warn("keys of the configuration file that are accepted and not honoured", "keys", strings.Join(c.Ignored, " "))
	}
	if c.Mode() == config.ModeLocal && len(c.RemoteWrite) > 0 {
		logger.Warn("storage.mode is local: nothing is sent to remote_write", "destinations", len(c.RemoteWrite))
	}
	if c.Mode() == config.ModeLocal {
		logger.Info("series are kept", "path", c.Storage.Path, "retention", c.Storage.TSDB.Retention.Time)
		return
	}
	for i := range c.RemoteWrite {
		r := &c.RemoteWrite[i]
		logger.Info("series are sent", "destination", cmp.Or(r.Prometheus.Name, r.Prometheus.URL.Host), "url", r.ShownURL(), "required", r.Required)
	}
}

// listeners are the open sockets; nil where the address is empty.
type listeners struct{ http, grpc, admin net.Listener }

func listen(c *config.Loaded) (*listeners, error) {
	l := &listeners{}
	for _, want := range []struct {
		flag, address string
		to            *net.Listener
	}{
		{"--http.listen-address", c.HTTP.ListenAddress, &l.http},
		{"--grpc.listen-address", c.GRPC.ListenAddress, &l.grpc},
		{"--admin.listen-address", c.Admin.ListenAddress, &l.admin},
	} {
		if want.address == "" {
			continue
		}
		var err error
		if *want.to, err = net.Listen("tcp", want.address); err != nil {
			l.close()
			return nil, fmt.Errorf("%s: %w", want.flag, err)
		}
	}
	return l, nil
}

// close closes what is open; a second close of a listener does nothing.
func (l *listeners) close() {
	for _, x := range []net.Listener{l.http, l.grpc, l.admin} {
		if x != nil {
			_ = x.Close()
		}
	}
}

// app is the gateway, put together.
type app struct {
	starting
	reg     *prometheus.Registry // metrics of the process
	stats   *stats
	metrics *reloadMetrics
	gateway *gateway.Gateway
	behind  stage

	// inForce is the configuration, as it is and as it may be shown.
	inForce atomic.Pointer[inForce]

	// mu makes reloads and the end come one after the other.
	mu      sync.Mutex
	stopped bool
}

// inForce is a configuration at work.
type inForce struct {
	*config.Loaded
	shown []byte
}

func forced(c *config.Loaded) (*inForce, error) {
	shown, err := c.Effective()
	if err != nil {
		return nil, fmt.Errorf("printing the effective configuration: %w", err)
	}
	return &inForce{Loaded: c, shown: shown}, nil
}

// newApp returns the gateway with nothing behind it; run opens the store.
func newApp(s starting) (*app, error) {
	reg := prometheus.NewRegistry()
	a := &app{starting: s, reg: reg, stats: newStats(reg), metrics: newReloadMetrics(reg)}
	reg.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
		newBuildInfo(),
	)
	limitMemory(s.logger)
	c, err := forced(s.config)
	if err != nil {
		return nil, err
	}
	a.inForce.Store(c)
	a.metrics.succeeded()
	var api http.Handler
	if c.Mode() == config.ModeLocal {
		api = &a.behind
	}
	a.gateway, err = gateway.New(gateway.Options{
		Pusher:           &a.behind,
		Logger:           s.logger,
		Registerer:       reg,
		Settings:         gatewaySettings(s.config),
		MaxInFlightBytes: memoryShare(),
		Ready:            a.behind.ready,
		Gatherer:         a.stats,
		Config:           func() []byte { return a.inForce.Load().shown },
		Reload:           a.reload,
		API:              api,
		Pages:            debugPages(a.behind.inspected),
	})
	return a, err
}

// gatewaySettings says in the gateway's words what the file says.
func gatewaySettings(c *config.Loaded) gateway.Settings {
	s := gateway.Settings{
		HTTPMaxRequestSize: int64(c.HTTP.MaxRequestSize),
		GRPCMaxRequestSize: int64(c.GRPC.MaxRequestSize),
		MaxJSONSize:        int64(c.HTTP.MaxJSONSize),
		CORSAllowedOrigins: c.HTTP.CORSAllowedOrigins,
		PassPeer:           slices.Contains(c.OTLP.InstanceFrom, config.PeerIP),
	}
	if t := c.Tenants; t != nil {
		s.Tenants = &gateway.Tenants{Default: t.Default, Allow: t.Allow, Max: t.Max}
		for _, from := range t.From {
			s.Tenants.From = append(s.Tenants.From, gateway.TenantSource{Header: from.Header, Path: from.Path, ResourceAttribute: from.ResourceAttribute})
		}
	}
	return s
}

// open opens the store and the first generation into it.
func (a *app) open() error {
	g, err := a.generation(a.config, nil)
	if err != nil {
		return err
	}
	a.stats.begin(g.reg)
	close(g.open)
	g.sweep()
	a.behind.now.Store(g)
	return nil
}

// generation makes what c says of the way to the store. A database that is
// open already, in the generation before, stays so.
func (a *app) generation(c *config.Loaded, before *generation) (*generation, error) {
	g := newGeneration()
	var err error
	if before != nil && c.Mode() == config.ModeLocal {
		g.backend, g.api, g.borrowed = before.backend, before.api, true
	} else if g.backend, g.api, err = openBackend(c, a.logger, a.reg, g.reg); err != nil {
		return nil, err
	}
	if g.pipeline, err = converter.New(pipelineOptions(c, g.backend, a.logger, g.reg)); err != nil {
		return nil, errors.Join(err, a.discard(g))
	}
	return g, nil
}

// discard gives up a generation that has not begun.
func (a *app) discard(g *generation) error {
	if g.borrowed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.grace())
	defer cancel()
	return g.backend.Close(ctx)
}

// grace is how long an end may take.
func (a *app) grace() time.Duration { return time.Duration(a.inForce.Load().Shutdown.Timeout) }

// pipelineOptions says in the converter's words what the file says. The
// converter's zero is Prometheus's default, so flags are turned around where
// Prometheus's default is true.
func pipelineOptions(c *config.Loaded, b storage.Backend, logger *slog.Logger, reg prometheus.Registerer) converter.Options {
	p := &c.OTLP.Prometheus
	return converter.Options{
		Backend:    b,
		Logger:     logger,
		Registerer: reg,
		Names: converter.NameOptions{
			Strategy:  p.TranslationStrategy,
			Namespace: c.OTLP.Namespace,
		},
		Labels: converter.LabelOptions{
			PromoteResourceAttributes:         p.PromoteResourceAttributes,
			PromoteAllResourceAttributes:      p.PromoteAllResourceAttributes,
			IgnoreResourceAttributes:          p.IgnoreResourceAttributes,
			KeepIdentifyingResourceAttributes: p.KeepIdentifyingResourceAttributes,
			DisableScopeMetadata:              !p.PromoteScopeMetadata,
			KeepLeadingUnderscore:             !p.LabelNameUnderscoreSanitization,
			CollapseUnderscores:               !p.LabelNamePreserveMultipleUnderscores,
			TypeAndUnit:                       c.OTLP.TypeAndUnitLabels,
		},
		NHCB:              p.ConvertHistogramsToNHCB,
		DisableTargetInfo: c.OTLP.DisableTargetInfo,
		OpenMetricsLE:     c.OTLP.LEFormat == "openmetrics",
		Relabel:           c.MetricRelabelConfigs,
		InstanceFrom:      c.OTLP.InstanceFrom,
		Limits: converter.Limits{
			MaxFuture:              time.Duration(c.Limits.MaxFuture),
			MaxSampleAge:           time.Duration(c.Limits.MaxSampleAge),
			RejectLate:             c.Limits.RejectLate,
			MaxLabelNames:          c.Limits.MaxLabelNamesPerSeries,
			MaxLabelNameLength:     c.Limits.MaxLabelNameLength,
			MaxLabelValueLength:    c.Limits.MaxLabelValueLength,
			MaxSeriesPerMetric:     c.Limits.MaxSeriesPerMetric,
			MaxActiveSeries:        c.Limits.MaxActiveSeries,
			MaxExemplarsPerSeries:  c.Limits.MaxExemplarsPerSeries,
			MaxExemplarsPerRequest: c.Limits.MaxExemplarsPerRequest,
		},
		Cache: series.Options{
			MaxBytes:    int64(c.Cache.MaxBytes),
			MaxSeries:   c.Cache.MaxSeries,
			IdleTimeout: time.Duration(c.Cache.IdleTimeout),
		},
	}
}

// run serves until ctx ends or a server fails, and then stops in the order
// that loses nothing: no new requests, answers for those in flight, the store.
// The admin pages are served before the store opens.
func (a *app) run(ctx context.Context, l *listeners) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	servers, failed := errgroup.WithContext(ctx)
	run := func(name string, l net.Listener, serve func(net.Listener) error) {
		if l == nil {
			return
		}
		servers.Go(func() error { return serve(l) })
		// The socket has been listening all along; from here on it is served.
		a.logger.Info("listening", "listener", name, "address", l.Addr().String())
	}
	servers.Go(func() error {
		a.reloadOn(failed, a.hangup)
		return nil
	})
	run("admin", l.admin, a.gateway.RunAdmin)
	if err := a.open(); err != nil {
		giveUp()
		return errors.Join(err, a.gateway.Close(), servers.Wait())
	}
	run("http", l.http, a.gateway.RunHTTP)
	run("grpc", l.grpc, a.gateway.RunGRPC)
	a.logger.Info("ready")
	<-failed.Done()
	a.logger.Info("stopping", "timeout", a.grace())

	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.grace())
	defer cancel()
	var errs []error
	if err := a.gateway.Drain(end); err != nil {
		errs = append(errs, fmt.Errorf("shutdown.timeout (%s): %w", a.grace(), err))
	}
	if err := a.end(end); err != nil {
		errs = append(errs, fmt.Errorf("closing the store: %w", err))
	}
	// The admin pages stay to the last, for whoever wants to know why it takes
	// so long.
	errs = append(errs, a.gateway.Close(), servers.Wait())
	if err := errors.Join(errs...); err != nil {
		return err
	}
	a.logger.Info("stopped")
	return nil
}

// end closes the store, when a reload that is under way is over.
func (a *app) end(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	g := a.behind.now.Load()
	g.stop()
	return g.backend.Close(ctx)
}
