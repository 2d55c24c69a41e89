package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEffectiveHidesSecrets(t *testing.T) {
	l, err := load(t, `
remote_write:
  - url: http://bob:pw-in-url@far.example/write?token=key-in-query
    headers: {X-Api-Key: key-in-header}
    oauth2: {client_id: me, client_secret: oauth-secret, token_url: "http://u:pw-in-token@auth.example/?k=key-in-token", endpoint_params: {p: key-in-params}}
    http_headers: {X-More: {values: [key-in-values]}}
    proxy_url: http://p:proxy-secret@proxy.example/
  - url: http://far.example/
    sigv4: {region: eu-1, access_key: AK, secret_key: sig-secret}
`)
	require.NoError(t, err)
	b, err := l.Effective()
	require.NoError(t, err)
	out := string(b)
	for _, secret := range []string{"pw-in-url", "key-in-query", "key-in-header", "oauth-secret", "proxy-secret", "sig-secret", "pw-in-token", "key-in-token", "key-in-params", "key-in-values", "AK"} {
		require.NotContains(t, out, secret)
	}
	require.Contains(t, out, "X-Api-Key: <secret>")
	require.Contains(t, out, "mode: direct")
	require.Contains(t, out, "listen_address: :4318")
	require.Equal(t, "key-in-header", l.RemoteWrite[0].Prometheus.Headers["X-Api-Key"], "the configuration itself keeps it")
	require.Equal(t, "token=key-in-query", l.RemoteWrite[0].Prometheus.URL.RawQuery)
}

// What the page shows is itself a configuration: pasting it back changes
// nothing (but for what was hidden).
func TestEffectiveLoadsAgain(t *testing.T) {
	first, err := load(t, `
limits: {max_future: 1m, max_active_series: 7, reject_late: true}
global: {external_labels: {a: b}}
otlp: {instance_from: [host.name, peer_ip]}
metric_relabel_configs:
  - {action: keepequal, source_labels: [a], target_label: b}
  - {action: labelmap, regex: "x_(.*)"}
  - {source_labels: [a], target_label: "b.c", regex: ""}
`, "--remote-write.url=http://far.example/")
	require.NoError(t, err)
	b, err := first.Effective()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "again.yaml")
	require.NoError(t, os.WriteFile(file, b, 0o600))
	again, err := Load(file, nil, os.Getenv)
	require.NoError(t, err)
	b2, err := again.Effective()
	require.NoError(t, err)
	require.Equal(t, string(b), string(b2))
	require.Equal(t, first.MetricRelabelConfigs[2].TargetLabel, again.MetricRelabelConfigs[2].TargetLabel)
	require.Equal(t, first.MetricRelabelConfigs[2].Regex.String(), again.MetricRelabelConfigs[2].Regex.String())
	require.Contains(t, string(b), "max_active_series: 7")
}
