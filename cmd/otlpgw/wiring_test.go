package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/gateway"
	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/direct"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

func loaded(t *testing.T, file string, args ...string) *config.Loaded {
	t.Helper()
	flags, err := config.ParseFlags(args, new(strings.Builder))
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "otlpgw.yaml")
	require.NoError(t, os.WriteFile(name, []byte(file), 0o600))
	c, err := config.Load(name, flags, os.Getenv)
	require.NoError(t, err)
	return c
}

// Without a file the converter does what Prometheus does, which is its zero.
func TestPipelineDefaults(t *testing.T) {
	require.Equal(t, converter.Options{
		Names:  converter.NameOptions{Strategy: otlptranslator.UnderscoreEscapingWithSuffixes},
		Limits: converter.Limits{MaxFuture: 10 * time.Minute},
		Cache:  series.Options{IdleTimeout: time.Hour},
	}, pipelineOptions(loaded(t, ""), nil, nil, nil))
}

// Every key that the converter honours reaches it.
func TestPipelineOptions(t *testing.T) {
	c := loaded(t, `
otlp:
  promote_resource_attributes: [a]
  translation_strategy: NoTranslation
  keep_identifying_resource_attributes: true
  convert_histograms_to_nhcb: true
  promote_scope_metadata: false
  label_name_underscore_sanitization: false
  label_name_preserve_multiple_underscores: false
  le_format: openmetrics
  disable_target_info: true
  namespace: ns
  type_and_unit_labels: true
  instance_from: [host.name+process.pid, peer_ip]
limits:
  max_future: 1m
  max_sample_age: 2h
  reject_late: true
  max_label_names_per_series: 1
  max_label_name_length: 2
  max_label_value_length: 3
  max_series_per_metric: 4
  max_active_series: 5
  max_exemplars_per_series: 6
  max_exemplars_per_request: 7
metric_relabel_configs:
  - {action: labeldrop, regex: tmp_.*}
cache: {max_bytes: 1MiB, max_series: 5, idle_timeout: 3m}
`)
	logger := slog.New(slog.DiscardHandler)
	require.Equal(t, converter.Options{
		Logger: logger,
		Names:  converter.NameOptions{Strategy: otlptranslator.NoTranslation, Namespace: "ns"},
		Labels: converter.LabelOptions{
			PromoteResourceAttributes:         []string{"a"},
			KeepIdentifyingResourceAttributes: true,
			DisableScopeMetadata:              true,
			KeepLeadingUnderscore:             true,
			CollapseUnderscores:               true,
			TypeAndUnit:                       true,
		},
		NHCB:              true,
		DisableTargetInfo: true,
		OpenMetricsLE:     true,
		Relabel:           c.MetricRelabelConfigs,
		InstanceFrom:      []string{"host.name+process.pid", "peer_ip"},
		Limits: converter.Limits{
			MaxFuture: time.Minute, MaxSampleAge: 2 * time.Hour, RejectLate: true,
			MaxLabelNames: 1, MaxLabelNameLength: 2, MaxLabelValueLength: 3,
			MaxSeriesPerMetric: 4, MaxActiveSeries: 5,
			MaxExemplarsPerSeries: 6, MaxExemplarsPerRequest: 7,
		},
		Cache: series.Options{MaxBytes: 1 << 20, MaxSeries: 5, IdleTimeout: 3 * time.Minute},
	}, pipelineOptions(c, nil, logger, nil))
	require.Len(t, c.MetricRelabelConfigs, 1)
	require.NoError(t, c.MetricRelabelConfigs[0].Validate(model.LegacyValidation))
	require.Equal(t, model.UTF8Validation, c.MetricRelabelConfigs[0].NameValidationScheme, "validated already")

	all := loaded(t, "otlp: {promote_all_resource_attributes: true, ignore_resource_attributes: [b]}\n")
	o := pipelineOptions(all, nil, nil, nil)
	require.True(t, o.Labels.PromoteAllResourceAttributes)
	require.Equal(t, []string{"b"}, o.Labels.IgnoreResourceAttributes)
}

// A URL by flag is the destination that remotewrite itself calls the default,
// with Prometheus's HTTP client.
func TestDestinationDefaults(t *testing.T) {
	const url = "http://far.example/write"
	c := loaded(t, "", "--remote-write.url="+url)
	want := remotewrite.DefaultDestinationOptions(url)
	want.HTTPClientConfig.EnableHTTP2 = false // as Prometheus's remote write
	require.Equal(t, want, destination(&c.RemoteWrite[0]))
}

func TestDestination(t *testing.T) {
	c := loaded(t, `
remote_write:
  - url: http://far.example/write
    name: far
    headers: {X-Scope-OrgID: a}
    remote_timeout: 7s
    write_relabel_configs: [{action: labeldrop, regex: x}]
    send_exemplars: false
    send_native_histograms: false
    protobuf_message: prometheus.WriteRequest
    convert_nhcb_to_classic: true
    bearer_token: secret
    batch_max_wait: 9ms
    shards: 3
    zero_samples: true
    queue_config: {max_samples_per_send: 9, min_backoff: 1s, max_backoff: 2s}
  - url: http://aws.example/write
    required: false
    protobuf_message: io.prometheus.write.v2.Request
    capabilities: {exemplars: false, native_histograms: false, nhcb: false, metadata: false, start_timestamps: false, utf8_names: false}
    sigv4: {region: eu-1}
`)
	d := destination(&c.RemoteWrite[0])
	require.Equal(t, "far", d.Name)
	require.Equal(t, map[string]string{"X-Scope-OrgID": "a"}, d.Headers)
	require.Equal(t, 7*time.Second, d.RemoteTimeout)
	require.Len(t, d.WriteRelabelConfigs, 1)
	require.False(t, d.SendExemplars)
	require.False(t, d.SendNativeHistograms)
	require.Equal(t, remotewrite.MessageV1, d.ProtobufMessage)
	require.True(t, d.ConvertNHCBToClassic)
	require.Equal(t, "secret", string(d.HTTPClientConfig.Authorization.Credentials), "the old key, where it is read now")
	require.Equal(t, 9, d.MaxSamplesPerSend)
	require.Equal(t, time.Second, d.MinBackoff)
	require.Equal(t, 2*time.Second, d.MaxBackoff)
	require.True(t, d.Required)
	require.Equal(t, 9*time.Millisecond, d.BatchMaxWait)
	require.Equal(t, 3, d.Shards)
	require.True(t, d.ZeroSamples)
	require.True(t, d.SendMetadata)
	require.True(t, d.SendStartTimestamps)
	require.False(t, d.EscapeNames)

	d = destination(&c.RemoteWrite[1])
	require.False(t, d.Required)
	require.Equal(t, remotewrite.MessageV2, d.ProtobufMessage)
	require.Equal(t, "eu-1", d.SigV4.Region)
	require.False(t, d.SendExemplars)
	require.False(t, d.SendNativeHistograms)
	require.True(t, d.ConvertNHCBToClassic)
	require.False(t, d.SendMetadata)
	require.False(t, d.SendStartTimestamps)
	require.True(t, d.EscapeNames)
}

func TestDirectOptions(t *testing.T) {
	const url = "--remote-write.url=http://far.example/write"
	o := directOptions(loaded(t, "direct: {max_pending_bytes: 3MiB, max_tenant_bytes: 2MiB}\n", url))
	require.EqualValues(t, 3<<20, o.MaxPendingBytes)
	require.EqualValues(t, 2<<20, o.MaxTenantBytes)
	require.Nil(t, o.TenantOf)
	require.Equal(t, "X-Scope-OrgID", o.Destinations[0].TenantHeader)

	o = directOptions(loaded(t, "tenants: {default: a, forward_header: THANOS-TENANT}\n", url))
	require.Positive(t, o.MaxPendingBytes)
	require.LessOrEqual(t, o.MaxPendingBytes, int64(direct.DefaultMaxPendingBytes))
	require.Equal(t, "THANOS-TENANT", o.Destinations[0].TenantHeader)
	require.Equal(t, "a", o.TenantOf(storage.WithTenant(t.Context(), "a")))
}

func TestGatewaySettings(t *testing.T) {
	s := gatewaySettings(loaded(t, `
http: {max_request_size: 1MiB, max_json_size: 2KiB, cors_allowed_origins: ["*"]}
grpc: {max_request_size: 3MiB}
otlp: {instance_from: [peer_ip]}
tenants: {from: [{header: X-Team}, {path: "/of/{tenant}"}], default: a, allow: [a, b], max: 7}
remote_write: [{url: "http://far.example/"}]
`))
	require.Equal(t, gateway.Settings{
		HTTPMaxRequestSize: 1 << 20, MaxJSONSize: 2 << 10, GRPCMaxRequestSize: 3 << 20,
		CORSAllowedOrigins: []string{"*"}, PassPeer: true,
		Tenants: &gateway.Tenants{
			From: []gateway.TenantSource{{Header: "X-Team"}, {Path: "/of/{tenant}"}}, Default: "a", Allow: []string{"a", "b"}, Max: 7,
		},
	}, s)
	require.NoError(t, s.Check())
}
