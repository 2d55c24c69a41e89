package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
	"github.com/otlpgw/otlpgw/storage"
)

// errStopping says why nothing is reloaded any more.
var errStopping = errors.New("the gateway is shutting down")

// reloadOn reloads with every signal until ctx ends.
func (a *app) reloadOn(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-hangup:
			// Told in the log.
			_ = a.reload()
		case <-ctx.Done():
			return
		}
	}
}

// reload reads the configuration again and puts it in force. It returns when
// the requests that began under the old one are answered. If it returns an
// error the old configuration stays; a [*storage.Error] says that now is not the
// time. It is told in the log, too: who sends a signal gets no answer.
func (a *app) reload() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.behind.now.Load()
	switch {
	case a.stopped:
		return storage.Unavailable(errStopping, 0)
	case before == nil:
		a.logger.Warn("the configuration was not reloaded", "err", errOpening)
		return storage.Unavailable(errOpening, 0)
	}
	what, err := a.change(before)
	if err != nil {
		a.metrics.failed()
		a.logger.Error("the configuration was not reloaded, the old one stays in force", "err", err)
		return err
	}
	a.metrics.succeeded()
	a.logger.Info("the configuration was reloaded", "changed", what)
	return nil
}

// change loads the configuration and goes over to it. What says how far that
// went.
func (a *app) change(before *generation) (what string, err error) {
	c, err := a.load()
	if err != nil {
		return "", err
	}
	old := a.inForce.Load()
	if err := unmovable(&old.Config, &c.Config); err != nil {
		return "", err
	}
	next, err := forced(c)
	if err != nil {
		return "", err
	}
	var g *generation
	if onTheWay(&old.Config, &c.Config) {
		if g, err = a.generation(c, before); err != nil {
			return "", err
		}
	}
	if err := a.gateway.Set(gatewaySettings(c)); err != nil {
		if g != nil {
			err = errors.Join(err, a.discard(g))
		}
		return "", err
	}
	tellAbout(c, a.logger)
	a.inForce.Store(next)
	a.level.Set(levelOf(c.Log.Level))
	if g == nil {
		return "settings of the listeners", nil
	}
	a.replace(before, g)
	return "the way to the store", nil
}

// replace lets requests go g's way from now on, once those that go the old one
// are answered, and ends the old one.
func (a *app) replace(old, g *generation) {
	a.stats.begin(g.reg)
	a.behind.now.Store(g)
	patience, cancel := context.WithTimeout(context.Background(), a.grace())
	defer cancel()
	if err := old.drain(patience); err != nil {
		a.logger.Warn("requests from before the reload are still waiting for their answer", "requests", old.requests.Load())
	}
	// Theirs is the old backend, whose close answers what is left.
	close(g.open)
	g.sweep()
	old.stop()
	if !g.borrowed {
		if err := old.backend.Close(patience); err != nil {
			a.logger.Warn("closing what was used before the reload", "err", err)
		}
	}
	a.stats.end(old.reg)
}

// unmovable returns an error that names what needs a restart to change.
func unmovable(old, c *config.Config) error {
	was, is := old.Storage, c.Storage
	var keys []string
	for _, k := range []struct {
		key     string
		was, is any
	}{
		{"http.listen_address", old.HTTP.ListenAddress, c.HTTP.ListenAddress},
		{"grpc.listen_address", old.GRPC.ListenAddress, c.GRPC.ListenAddress},
		{"admin.listen_address", old.Admin.ListenAddress, c.Admin.ListenAddress},
		{"storage.mode", old.Mode(), c.Mode()},
		{"storage.path", was.Path, is.Path},
		{"storage.tsdb", was.TSDB, is.TSDB},
		{"storage.exemplars", was.Exemplars, is.Exemplars},
		{"log.format", old.Log.Format, c.Log.Format},
	} {
		if !reflect.DeepEqual(k.was, k.is) {
			keys = append(keys, k.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be changed by a reload; restart to change it", strings.Join(keys, ", "))
}

// onTheWay reports whether anything between the gateway and the store changes.
func onTheWay(old, c *config.Config) bool {
	part := func(c *config.Config) []any {
		way := []any{&c.OTLP, c.MetricRelabelConfigs, &c.Limits, &c.Cache}
		if c.Mode() == config.ModeDirect {
			forward := ""
			if c.Tenants != nil {
				forward = c.Tenants.ForwardHeader
			}
			way = append(way, &c.Global, c.RemoteWrite, &c.Direct, forward)
		}
		return way
	}
	return !reflect.DeepEqual(part(old), part(c))
}

// reloadMetrics are named as Prometheus's are.
type reloadMetrics struct{ successful, at prometheus.Gauge }

func newReloadMetrics(reg prometheus.Registerer) *reloadMetrics {
	m := &reloadMetrics{
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "otlpgw_config_last_reload_successful",
			Help: "1 if the last attempt to load the configuration worked, 0 if the one before it is still in force.",
		}),
		at: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "otlpgw_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration in force was loaded.",
		}),
	}
	reg.MustRegister(m.successful, m.at)
	return m
}

func (m *reloadMetrics) succeeded() {
	m.successful.Set(1)
	m.at.SetToCurrentTime()
}

func (m *reloadMetrics) failed() { m.successful.Set(0) }
