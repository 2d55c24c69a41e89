package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/direct"
	"github.com/otlpgw/otlpgw/storage/local"
	"github.com/otlpgw/otlpgw/storage/local/promapi"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// openBackend opens what the configuration says series go to. The handler
// serves queries, for backends that answer any. A database stays for the whole
// process, and so do its metrics.
func openBackend(c *config.Loaded, logger *slog.Logger, process, generation prometheus.Registerer) (storage.Backend, http.Handler, error) {
	switch mode := c.Mode(); mode {
	case config.ModeLocal:
		return openLocal(c, logger, process)
	case config.ModeDirect:
		b, err := openDirect(c, logger, generation)
		return b, nil, err
	default:
		return nil, nil, fmt.Errorf("storage.mode %q has no backend", mode)
	}
}

func openDirect(c *config.Loaded, logger *slog.Logger, reg prometheus.Registerer) (storage.Backend, error) {
	o := directOptions(c)
	o.Version, o.Logger, o.Registerer = version, logger, reg
	b, err := direct.New(o)
	if err != nil {
		return nil, fmt.Errorf("remote_write: %w", err)
	}
	return b, nil
}

// directOptions says in direct's words what the file says.
func directOptions(c *config.Loaded) direct.Options {
	o := direct.Options{
		ExternalLabels:  c.Global.Prometheus.ExternalLabels,
		AckTimeout:      time.Duration(c.Direct.AckTimeout),
		MaxPendingBytes: int64(c.Direct.MaxPendingBytes),
		MaxTenantBytes:  int64(c.Direct.MaxTenantBytes),
	}
	if o.MaxPendingBytes == 0 {
		o.MaxPendingBytes = min(memoryShare(), direct.DefaultMaxPendingBytes)
		o.MaxTenantBytes = min(o.MaxTenantBytes, o.MaxPendingBytes)
	}
	for i := range c.RemoteWrite {
		d := destination(&c.RemoteWrite[i])
		if c.Tenants != nil {
			d.TenantHeader = c.Tenants.ForwardHeader
		}
		o.Destinations = append(o.Destinations, d)
	}
	if c.Tenants != nil {
		o.TenantOf = storage.TenantOf
	}
	return o
}

// destination says in remotewrite's words what a block of the file says.
func destination(r *config.RemoteWrite) remotewrite.DestinationOptions {
	p := &r.Prometheus
	d := remotewrite.DefaultDestinationOptions(p.URL.String())
	d.Name = p.Name
	d.Headers = p.Headers
	d.RemoteTimeout = time.Duration(p.RemoteTimeout)
	d.WriteRelabelConfigs = p.WriteRelabelConfigs
	takes := r.Capabilities
	d.SendExemplars = p.SendExemplars && takes.Exemplars
	d.SendNativeHistograms = p.SendNativeHistograms && takes.NativeHistograms
	d.ConvertNHCBToClassic = p.ConvertNHCBToClassic || !takes.NHCB
	d.SendMetadata = takes.Metadata
	d.SendStartTimestamps = takes.StartTimestamps
	d.EscapeNames = !takes.UTF8Names
	d.ZeroSamples = r.ZeroSamples
	d.BatchMaxWait = time.Duration(r.BatchMaxWait)
	d.Shards = r.Shards
	d.HTTPClientConfig = p.HTTPClientConfig
	d.SigV4 = p.SigV4Config
	d.MaxSamplesPerSend = p.QueueConfig.MaxSamplesPerSend
	d.MinBackoff = time.Duration(p.QueueConfig.MinBackoff)
	d.MaxBackoff = time.Duration(p.QueueConfig.MaxBackoff)
	d.Required = r.Required
	switch p.ProtobufMessage {
	case remoteapi.WriteV1MessageType:
		d.ProtobufMessage = remotewrite.MessageV1
	case remoteapi.WriteV2MessageType:
		d.ProtobufMessage = remotewrite.MessageV2
	}
	return d
}

func openLocal(c *config.Loaded, logger *slog.Logger, reg prometheus.Registerer) (storage.Backend, http.Handler, error) {
	b, err := local.Open(local.Options{
		Dir:                  c.Storage.Path,
		Logger:               logger,
		Registerer:           reg,
		RetentionTime:        time.Duration(c.Storage.TSDB.Retention.Time),
		RetentionSize:        int64(c.Storage.TSDB.Retention.Size),
		OutOfOrderTimeWindow: time.Duration(c.Storage.TSDB.OutOfOrderTimeWindow),
		MaxExemplars:         int(c.Storage.Exemplars.MaxExemplars),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("--storage.path %s: %w", c.Storage.Path, err)
	}
	api, err := promapi.New(promapi.Options{
		Store:      b,
		Logger:     logger,
		Registerer: reg,
	})
	if err != nil {
		// Nothing was written yet that a close could lose.
		return nil, nil, errors.Join(err, b.Close(context.Background()))
	}
	return b, api, nil
}
