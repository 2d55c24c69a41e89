package remotewrite

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Group is the destinations that get the same samples, and their table. It is
// safe for concurrent use.
type Group struct {
	table        *Table
	destinations []*Destination
}

// New returns the destinations of o. All their faults are reported at once.
func New(o Options) (*Group, error) {
	if len(o.Destinations) == 0 {
		return nil, errors.New("remote_write: no destination is configured")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = WallClock{}
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("remote_write metrics: %w", err)
	}
	g := &Group{}
	rules := make([]Rule, len(o.Destinations))
	var faults []error
	names := map[string]bool{}
	for i, do := range o.Destinations {
		rules[i] = Rule{External: o.ExternalLabels, Relabel: do.WriteRelabelConfigs, Escape: do.EscapeNames}
		d, err := newDestination(do, i, names, &o, m)
		if err != nil {
			faults = append(faults, fmt.Errorf("remote_write[%d]: %w", i, err))
			continue
		}
		names[d.name] = true
		g.destinations = append(g.destinations, d)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	g.table = NewTable(orDefault(o.MaxSeries, DefaultMaxSeries), rules...)
	for _, d := range g.destinations {
		d.table, d.collisions.table, d.zeros.table = g.table, g.table, g.table
	}
	if o.Registerer != nil {
		err := o.Registerer.Register(&oldestPending{
			desc: prometheus.NewDesc("otlpgw_remotewrite_oldest_pending_seconds",
				"How long the oldest waiting samples have been waiting for the destination.", []string{"destination"}, nil),
			of: g.destinations,
		})
		if err != nil {
			return nil, fmt.Errorf("remote_write metrics: %w", err)
		}
	}
	return g, nil
}

// Table returns the series that the destinations share.
func (g *Group) Table() *Table { return g.table }

// Destinations returns the destinations in the order of the options. The slice
// must not be changed.
func (g *Group) Destinations() []*Destination { return g.destinations }

// Close lets idle connections go.
func (g *Group) Close() {
	for _, d := range g.destinations {
		d.client.CloseIdleConnections()
	}
}

// destinationName is the configured name, or the host, with a number if that
// is taken.
func destinationName(name, host string, i int, taken map[string]bool) (string, error) {
	if name != "" {
		if taken[name] {
			return "", fmt.Errorf("name %q is taken by another destination", name)
		}
		return name, nil
	}
	if taken[host] {
		host += "-" + strconv.Itoa(i)
	}
	return host, nil
}
