package gateway

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage"
)

// sdkErrors collects what the SDK reports to its user.
type sdkErrors struct {
	mu   sync.Mutex
	errs []error
}

func (e *sdkErrors) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errs = append(e.errs, err)
}

// exporters returns OpenTelemetry's Go exporters, each with and without
// compression.
func exporters(t *testing.T, g *running) map[string]sdk.Exporter {
	t.Helper()
	ctx := context.Background()
	m := map[string]sdk.Exporter{}
	add := func(name string, e sdk.Exporter, err error) {
		require.NoError(t, err)
		m[name] = e
	}
	httpRetry := otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: true, InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, MaxElapsedTime: time.Minute})
	grpcRetry := otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{Enabled: true, InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, MaxElapsedTime: time.Minute})
	he, err := otlpmetrichttp.New(ctx, httpRetry, otlpmetrichttp.WithEndpoint(g.httpAddr), otlpmetrichttp.WithInsecure())
	add("http", he, err)
	he, err = otlpmetrichttp.New(ctx, httpRetry, otlpmetrichttp.WithEndpoint(g.httpAddr), otlpmetrichttp.WithInsecure(),
		otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	add("http gzip", he, err)
	ge, err := otlpmetricgrpc.New(ctx, grpcRetry, otlpmetricgrpc.WithEndpoint(g.grpcAddr), otlpmetricgrpc.WithInsecure())
	add("grpc", ge, err)
	ge, err = otlpmetricgrpc.New(ctx, grpcRetry, otlpmetricgrpc.WithEndpoint(g.grpcAddr), otlpmetricgrpc.WithInsecure(),
		otlpmetricgrpc.WithCompressor("gzip"))
	add("grpc gzip", ge, err)
	return m
}

// export has one exporter send one counter through the SDK and returns the
// error of the flush.
func export(t *testing.T, e sdk.Exporter) error {
	t.Helper()
	ctx := context.Background()
	p := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(e, sdk.WithInterval(time.Hour))))
	c, err := p.Meter("test").Int64Counter("requests")
	require.NoError(t, err)
	c.Add(ctx, 3)
	flushed := p.ForceFlush(ctx)
	_ = p.Shutdown(ctx) // Flushes again, with the same result.
	return flushed
}

func TestGoExporters(t *testing.T) {
	handler := &sdkErrors{}
	otel.SetErrorHandler(handler)
	p := &recorder{}
	g := start(t, Options{Pusher: p})
	for name, e := range exporters(t, g) {
		before := len(p.got())
		require.NoError(t, export(t, e), name)
		bodies := p.got()
		require.Greater(t, len(bodies), before, name)
		m := &colpb.ExportMetricsServiceRequest{}
		require.NoError(t, proto.Unmarshal(bodies[before], m), name)
		require.Equal(t, "requests", m.ResourceMetrics[0].ScopeMetrics[0].Metrics[0].Name)
	}
	require.Empty(t, handler.errs)
}

// TestGoExportersTellOfRejections: a partial success reaches the user, also
// one that has rejected nothing, which is why warnings must be rare.
func TestGoExportersTellOfRejections(t *testing.T) {
	otel.SetErrorHandler(&sdkErrors{})
	for _, r := range []converter.Report{
		{Points: 2, Rejected: 1, Message: "too old"},
		{Points: 1, Message: "too old, all the same"},
	} {
		p := answering(r, nil)
		g := start(t, Options{Pusher: p})
		for name, e := range exporters(t, g) {
			require.ErrorContains(t, export(t, e), "too old", name)
		}
		require.Len(t, p.got(), 2*4, "sent once for the flush and once for the shutdown, and never retried")
	}
}

// TestGoExportersRetry: what is temporary is sent again, with the same bytes.
func TestGoExportersRetry(t *testing.T) {
	otel.SetErrorHandler(&sdkErrors{})
	for _, kind := range []storage.Kind{storage.KindUnavailable, storage.KindThrottled} {
		refused := 0
		p := &recorder{}
		p.answer = func(_ context.Context, r converter.Request) (converter.Report, error) {
			r.Converted()
			if refused == 0 {
				refused++
				return converter.Report{}, &storage.Error{Kind: kind, RetryAfter: time.Millisecond}
			}
			return converter.Report{}, nil
		}
		g := start(t, Options{Pusher: p})
		for name, e := range exporters(t, g) {
			refused = 0
			before := len(p.got())
			require.NoError(t, export(t, e), "%s, %s", name, kind)
			bodies := p.got()[before:]
			require.GreaterOrEqual(t, len(bodies), 2, name)
			require.Equal(t, bodies[0], bodies[1], name)
		}
	}
}
