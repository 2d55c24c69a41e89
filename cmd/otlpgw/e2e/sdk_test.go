package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// want is what one round of pushing becomes, whichever SDK, transport and
// store: every series with its value.
const want = `
e2e_latency_seconds_bucket instance="INSTANCE" job="e2e/shop" le="+Inf" otel_scope_name="e2e-scope" otel_scope_version="1.2" 4
e2e_latency_seconds_bucket instance="INSTANCE" job="e2e/shop" le="1" otel_scope_name="e2e-scope" otel_scope_version="1.2" 1
e2e_latency_seconds_bucket instance="INSTANCE" job="e2e/shop" le="10" otel_scope_name="e2e-scope" otel_scope_version="1.2" 3
e2e_latency_seconds_bucket instance="INSTANCE" job="e2e/shop" le="5" otel_scope_name="e2e-scope" otel_scope_version="1.2" 2
e2e_latency_seconds_count instance="INSTANCE" job="e2e/shop" otel_scope_name="e2e-scope" otel_scope_version="1.2" 4
e2e_latency_seconds_sum instance="INSTANCE" job="e2e/shop" otel_scope_name="e2e-scope" otel_scope_version="1.2" 110.5
e2e_orders_total instance="INSTANCE" job="e2e/shop" otel_scope_name="e2e-scope" otel_scope_version="1.2" route="/a" 7
e2e_queue_depth instance="INSTANCE" job="e2e/shop" otel_scope_name="e2e-scope" otel_scope_version="1.2" 3
e2e_temperature_celsius instance="INSTANCE" job="e2e/shop" otel_scope_name="e2e-scope" otel_scope_version="1.2" room="küche" 21.5
target_info deployment_environment_name="test" instance="INSTANCE" job="e2e/shop" 1
`

// wantSize is the exponential histogram, of which the SDKs choose the buckets:
// four values, each in a bucket that it is the upper bound of.
var wantSize = []string{"1]:1", "2]:1", "4]:1", "8]:1"}

// wantExemplars is what recording within a sampled span leaves behind.
const wantExemplars = `
e2e_latency_seconds_bucket {span_id="00f067aa0ba902b7", trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 0.5
e2e_latency_seconds_bucket {span_id="00f067aa0ba902b7", trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 100
e2e_latency_seconds_bucket {span_id="00f067aa0ba902b7", trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 3
e2e_latency_seconds_bucket {span_id="00f067aa0ba902b7", trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 7
`

func checkPushed(t *testing.T, s store, instance string) {
	t.Helper()
	got := s.query(t, fmt.Sprintf(`{instance=%q, __name__!="e2e_size_bytes"}`, instance))
	text := strings.ReplaceAll(strings.TrimSpace(want), "INSTANCE", instance)
	if diff := cmp.Diff(text, strings.Join(got, "\n")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	size := s.query(t, fmt.Sprintf(`e2e_size_bytes{instance=%q}`, instance))
	require.Len(t, size, 1)
	require.Contains(t, size[0], "count:4 sum:15")
	for _, b := range wantSize {
		require.Contains(t, size[0], ","+b)
	}
}

func checkExemplars(t *testing.T, s store, instance string) {
	t.Helper()
	got := s.exemplars(t, fmt.Sprintf(`e2e_latency_seconds_bucket{instance=%q}`, instance))
	if diff := cmp.Diff(strings.TrimSpace(wantExemplars), strings.Join(got, "\n")); diff != "" {
		t.Errorf("exemplars (-want +got):\n%s", diff)
	}
	// Of these the SDK takes a random sample, of a size that depends on the CPUs.
	for _, name := range []string{"e2e_orders_total", "e2e_size_bytes"} {
		sampled := s.exemplars(t, fmt.Sprintf(`%s{instance=%q}`, name, instance))
		require.NotEmpty(t, sampled, name)
		for _, e := range sampled {
			require.Contains(t, e, ` {span_id="00f067aa0ba902b7", trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} `)
		}
	}
}

// pushGo records one round with the Go SDK and exports it.
func pushGo(ctx context.Context, exporter sdkmetric.Exporter, instance string) error {
	res := resource.NewSchemaless(
		attribute.String("service.name", "shop"), attribute.String("service.namespace", "e2e"),
		attribute.String("service.instance.id", instance), attribute.String("deployment.environment.name", "test"),
	)
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithResource(res),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "e2e.size"}, sdkmetric.Stream{
			Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20},
		})),
	)
	if err := record(ctx, provider.Meter("e2e-scope", metric.WithInstrumentationVersion("1.2"))); err != nil {
		return err
	}
	if err := provider.ForceFlush(ctx); err != nil {
		return err
	}
	return provider.Shutdown(ctx)
}

func record(ctx context.Context, m metric.Meter) error {
	// Exemplars are taken where a sampled span is active.
	ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36},
		SpanID:     trace.SpanID{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
		TraceFlags: trace.FlagsSampled,
	}))
	orders, err := m.Int64Counter("e2e.orders", metric.WithUnit("{order}"), metric.WithDescription("Orders taken."))
	if err != nil {
		return err
	}
	orders.Add(ctx, 3, metric.WithAttributes(attribute.String("route", "/a")))
	orders.Add(ctx, 4, metric.WithAttributes(attribute.String("route", "/a")))
	depth, err := m.Int64UpDownCounter("e2e.queue.depth")
	if err != nil {
		return err
	}
	depth.Add(ctx, 5)
	depth.Add(ctx, -2)
	temperature, err := m.Float64Gauge("e2e.temperature", metric.WithUnit("Cel"))
	if err != nil {
		return err
	}
	temperature.Record(ctx, 21.5, metric.WithAttributes(attribute.String("room", "küche")))
	latency, err := m.Float64Histogram("e2e.latency", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(1, 5, 10))
	if err != nil {
		return err
	}
	for _, v := range []float64{0.5, 3, 7, 100} {
		latency.Record(ctx, v)
	}
	size, err := m.Float64Histogram("e2e.size", metric.WithUnit("By"))
	if err != nil {
		return err
	}
	for _, v := range []float64{1, 2, 4, 8} {
		size.Record(ctx, v)
	}
	return nil
}

// pusher is one exporter of one SDK.
type pusher struct {
	name      string
	exemplars bool // the Node SDK takes none
	push      func(t *testing.T, p *process, instance string)
}

var goPushers = []pusher{
	{"go-http", true, func(t *testing.T, p *process, instance string) {
		e, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(p.http), otlpmetrichttp.WithInsecure())
		require.NoError(t, err)
		require.NoError(t, pushGo(t.Context(), e, instance))
	}},
	{"go-http-gzip", true, func(t *testing.T, p *process, instance string) {
		e, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(p.http), otlpmetrichttp.WithInsecure(),
			otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
		require.NoError(t, err)
		require.NoError(t, pushGo(t.Context(), e, instance))
	}},
	{"go-grpc", true, func(t *testing.T, p *process, instance string) {
		e, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(p.grpc), otlpmetricgrpc.WithInsecure())
		require.NoError(t, err)
		require.NoError(t, pushGo(t.Context(), e, instance))
	}},
	{"go-grpc-gzip", true, func(t *testing.T, p *process, instance string) {
		e, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(p.grpc), otlpmetricgrpc.WithInsecure(),
			otlpmetricgrpc.WithCompressor("gzip"))
		require.NoError(t, err)
		require.NoError(t, pushGo(t.Context(), e, instance))
	}},
}

// destination is a gateway and the store its series end up in.
type destination struct {
	name string
	open func(t *testing.T) (*process, store)
}

var destinations = []destination{
	{"local", func(t *testing.T) (*process, store) {
		p := start(t)
		return p, apiStore{p.admin}
	}},
	{"remote write 2.0", func(t *testing.T) (*process, store) {
		r := newReceiver(t, remoteapi.WriteV2MessageType)
		return start(t, "--remote-write.url="+r.url), r
	}},
	{"remote write 1.0", func(t *testing.T) (*process, store) {
		r := newReceiver(t, remoteapi.WriteV1MessageType)
		return start(t, "--remote-write.url="+r.url), r
	}},
}

func TestGoSDK(t *testing.T) { runPushers(t, goPushers) }

func runPushers(t *testing.T, pushers []pusher) {
	for _, d := range destinations {
		t.Run(d.name, func(t *testing.T) { push(t, d, pushers) })
	}
}

// push pushes a round with each and looks for it where it should end up.
func push(t *testing.T, d destination, pushers []pusher) {
	p, s := d.open(t)
	for _, push := range pushers {
		t.Run(push.name, func(t *testing.T) {
			push.push(t, p, push.name)
			checkPushed(t, s, push.name)
			if push.exemplars {
				checkExemplars(t, s, push.name)
			}
		})
	}
	p.stop(t)
}
