package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
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

// serve runs the gateway until ctx ends or a listener fails, and then ends it
// in order. It returns nil when everything that was accepted was answered and
// the store is closed.
func serve(ctx context.Context, c *config.Loaded, logger *slog.Logger) error {
	tellAbout(c, logger)
	// Addresses first: a port that is taken is known before a store is opened,
	// whose log may take minutes to replay.
	l, err := listen(c)
	if err != nil {
		return err
	}
	defer l.close()
	a, err := newApp(c, logger)
	if err != nil {
		return err
	}
	return a.run(ctx, l)
}

// tellAbout logs what the operator should know about the configuration.
func tellAbout(c *config.Loaded, logger *slog.Logger) {
	logger.Info("starting otlpgw", "version", version, "storage_mode", c.Mode())
	if len(c.Ignored) > 0 {
		logger.Warn("keys of the configuration file that are accepted and not honoured", "keys", strings.Join(c.Ignored, " "))
	}
	if c.Mode() == config.ModeLocal && len(c.RemoteWrite) > 0 {
		logger.Warn("storage.mode is local: nothing is sent to remote_write", "destinations", len(c.RemoteWrite))
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
	c       *config.Loaded
	logger  *slog.Logger
	reg     *prometheus.Registry
	grace   time.Duration
	gateway *gateway.Gateway
	behind  opening
}

// newApp returns the gateway with nothing behind it; run opens the store.
func newApp(c *config.Loaded, logger *slog.Logger) (*app, error) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	effective, err := c.Effective()
	if err != nil {
		return nil, fmt.Errorf("printing the effective configuration: %w", err)
	}
	a := &app{c: c, logger: logger, reg: reg, grace: time.Duration(c.Shutdown.Timeout)}
	var api http.Handler
	if c.Mode() == config.ModeLocal {
		api = &a.behind
	}
	a.gateway, err = gateway.New(gateway.Options{
		Pusher:             &a.behind,
		Logger:             logger,
		Registerer:         reg,
		HTTPMaxRequestSize: int64(c.HTTP.MaxRequestSize),
		GRPCMaxRequestSize: int64(c.GRPC.MaxRequestSize),
		MaxJSONSize:        int64(c.HTTP.MaxJSONSize),
		MaxInFlightBytes:   inFlightBytes(logger),
		CORSAllowedOrigins: c.HTTP.CORSAllowedOrigins,
		PassPeer:           slices.Contains(c.OTLP.InstanceFrom, config.PeerIP),
		Ready:              a.behind.ready,
		Gatherer:           reg,
		Config:             func() []byte { return effective },
		API:                api,
		Pages:              debugPages(a.behind.inspected),
	})
	return a, err
}

// open opens the store and the pipeline into it.
func (a *app) open() (*opened, error) {
	backend, api, err := openBackend(a.c, a.logger, a.reg)
	if err != nil {
		return nil, err
	}
	pipeline, err := converter.New(pipelineOptions(a.c, backend, a.logger, a.reg))
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), a.grace)
		defer cancel()
		return nil, errors.Join(err, backend.Close(ctx))
	}
	return &opened{backend: backend, pipeline: pipeline, api: api}, nil
}

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
	servers, failed := errgroup.WithContext(ctx)
	run := func(name string, l net.Listener, serve func(net.Listener) error) {
		if l == nil {
			return
		}
		servers.Go(func() error { return serve(l) })
		// The socket has been listening all along; from here on it is served.
		a.logger.Info("listening", "listener", name, "address", l.Addr().String())
	}
	run("admin", l.admin, a.gateway.RunAdmin)
	store, err := a.open()
	if err != nil {
		return errors.Join(err, a.gateway.Close(), servers.Wait())
	}
	sweep, stopSweep := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSweep()
	var background errgroup.Group
	background.Go(func() error {
		store.pipeline.Run(sweep)
		return nil
	})
	a.behind.to.Store(store)
	run("http", l.http, a.gateway.RunHTTP)
	run("grpc", l.grpc, a.gateway.RunGRPC)
	<-failed.Done()
	a.logger.Info("stopping", "timeout", a.grace)

	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.grace)
	defer cancel()
	var errs []error
	if err := a.gateway.Drain(end); err != nil {
		errs = append(errs, fmt.Errorf("shutdown.timeout (%s): %w", a.grace, err))
	}
	stopSweep()
	_ = background.Wait() // it returns no error
	if err := store.backend.Close(end); err != nil {
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
