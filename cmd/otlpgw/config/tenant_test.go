package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const sending = "remote_write: [{url: \"http://far.example/\"}]\n"

func TestTenants(t *testing.T) {
	l, err := load(t, sending)
	require.NoError(t, err)
	require.Nil(t, l.Tenants)

	l, err = load(t, sending+"tenants: {default: a}\n")
	require.NoError(t, err)
	require.Equal(t, &Tenants{Default: "a", ForwardHeader: "X-Scope-OrgID", Max: 1000}, l.Tenants)

	l, err = load(t, sending+`
tenants:
  from: [{header: X-Team}, {path: "/tenants/{tenant}"}, {resource_attribute: team.name}]
  default: nobody
  forward_header: THANOS-TENANT
  allow: [nobody, a]
  max: 2
`)
	require.NoError(t, err)
	require.Equal(t, &Tenants{
		From:    []TenantSource{{Header: "X-Team"}, {Path: "/tenants/{tenant}"}, {ResourceAttribute: "team.name"}},
		Default: "nobody", ForwardHeader: "THANOS-TENANT", Allow: []string{"nobody", "a"}, Max: 2,
	}, l.Tenants)
	b, err := l.Effective()
	require.NoError(t, err)
	require.Contains(t, string(b), "forward_header: THANOS-TENANT")
}

func TestTenantFaults(t *testing.T) {
	for file, want := range map[string]string{
		"tenants: {default: a}\n":                                                                                     "line 1: tenants: needs storage.mode direct",
		sending + "tenants: {max: 3}\n":                                                                               "tenants.from: missing",
		sending + "tenants: {from: [{tls_common_name: true}]}\n":                                                      "line 2: tenants.from[0].tls_common_name: not supported in this version: no listener has TLS",
		sending + "tenants: {from: [{header: a, resource_attribute: team}]}\n":                                        "line 2: tenants.from: entry 0 must have one key",
		sending + "tenants: {from: [{resource_attribute: \"\"}]}\n":                                                   "line 2: tenants.from: entry 0 must have one key: header, path or resource_attribute",
		sending + "tenants: {from: [{}]}\n":                                                                           "line 2: tenants.from: entry 0 must have one key",
		sending + "tenants: {from: [{header: a, path: b}]}\n":                                                         "entry 0 must have one key",
		sending + "tenants: {from: [{header: \"a b\"}]}\n":                                                            `tenants.from[0].header: "a b": is no name of a header`,
		sending + "tenants: {from: [{haeder: a}]}\n":                                                                  "unknown key; did you mean header?",
		sending + "tenants: {default: a, max: 0}\n":                                                                   "tenants.max: \"0\": must be more than zero",
		sending + "tenants: {default: a, allow: [a, b], max: 1}\n":                                                    "lists 2 tenants, which is more than tenants.max (1)",
		sending + "tenants: {default: a, forward_header: Content-Type}\n":                                             "belongs to the protocol",
		sending + "tenants: {default: a, forward_header: \"\"}\n":                                                     "is no name of a header",
		"remote_write: [{url: \"http://h/\", headers: {x-scope-orgid: b}}]\ntenants: {default: a}\n":                  "remote_write[0].headers.x-scope-orgid: would take the place of the tenant",
		"remote_write: [{url: \"http://h/\", http_headers: {X-Scope-OrgID: {values: [b]}}}]\ntenants: {default: a}\n": "remote_write[0].http_headers.X-Scope-OrgID: would take the place of the tenant",
	} {
		_, err := load(t, file)
		require.ErrorContains(t, err, want, file)
	}
}

func TestDestinationKeys(t *testing.T) {
	l, err := load(t, `
remote_write:
  - url: http://far.example/
  - url: http://near.example/
    batch_max_wait: 0s
    shards: 4
    zero_samples: true
    capabilities: {native_histograms: false, utf8_names: false}
direct: {max_pending_bytes: 1MiB, max_tenant_bytes: 512KiB}
`)
	require.NoError(t, err)
	r := l.RemoteWrite[0]
	require.Equal(t, "5ms", r.BatchMaxWait.String())
	require.Equal(t, 32, r.Shards)
	require.Equal(t, Capabilities{true, true, true, true, true, true}, r.Capabilities)
	r = l.RemoteWrite[1]
	require.Zero(t, r.BatchMaxWait)
	require.Equal(t, 4, r.Shards)
	require.True(t, r.ZeroSamples)
	require.Equal(t, Capabilities{Exemplars: true, NHCB: true, Metadata: true, StartTimestamps: true}, r.Capabilities)
	require.EqualValues(t, 1<<20, l.Direct.MaxPendingBytes)
	require.EqualValues(t, 512<<10, l.Direct.MaxTenantBytes)

	for file, want := range map[string]string{
		"remote_write: [{url: \"http://h/\", shards: -1}]\n":                             "remote_write[0].shards: \"-1\": must be from 1 to 4096",
		"remote_write: [{url: \"http://h/\", capabilities: {native_histogram: true}}]\n": "capabilities.native_histogram: unknown key; did you mean native_histograms?",
		"remote_write: [{url: \"http://h/\", azuread: {cloud: AzurePublic}}]\n":          "line 1: remote_write[0].azuread: not supported in this version",
		"remote_write: [{url: \"http://h/\", google_iam: {credentials_file: f}}]\n":      "remote_write[0].google_iam: not supported in this version",
		sending + "direct: {max_pending_bytes: 1MiB, max_tenant_bytes: 2MiB}\n":          "direct.max_tenant_bytes: \"2MiB\": must be at most direct.max_pending_bytes, 1MiB",
	} {
		_, err := load(t, file)
		require.ErrorContains(t, err, want, file)
	}
}
