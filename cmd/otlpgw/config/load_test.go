package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

func load(t *testing.T, file string, args ...string) (*Loaded, error) {
	t.Helper()
	flags, err := ParseFlags(args, new(strings.Builder))
	require.NoError(t, err)
	name := ""
	if file != "" {
		name = filepath.Join(t.TempDir(), "otlpgw.yaml")
		require.NoError(t, os.WriteFile(name, []byte(file), 0o600))
	}
	return Load(name, flags, func(k string) string { return map[string]string{"ZONE": "eu-1"}[k] })
}

func TestDefaultsNeedNothing(t *testing.T) {
	l, err := load(t, "")
	require.NoError(t, err)
	require.Equal(t, ModeLocal, l.Mode())
	require.Equal(t, ":4318", l.HTTP.ListenAddress)
	require.Equal(t, ":4317", l.GRPC.ListenAddress)
	require.Equal(t, "127.0.0.1:9465", l.Admin.ListenAddress)
	require.EqualValues(t, 64<<20, l.HTTP.MaxRequestSize)
	require.EqualValues(t, 16<<20, l.HTTP.MaxJSONSize)
	require.EqualValues(t, 64<<20, l.GRPC.MaxRequestSize)
	require.Equal(t, model.Duration(5*time.Second), l.Direct.AckTimeout)
	require.Equal(t, model.Duration(30*time.Minute), l.Storage.TSDB.OutOfOrderTimeWindow)
	require.True(t, l.OTLP.Prometheus.PromoteScopeMetadata, "scope labels are on unless the file says otherwise")
	require.True(t, l.OTLP.Prometheus.LabelNamePreserveMultipleUnderscores)

	empty, err := load(t, "# nothing\n")
	require.NoError(t, err)
	require.Equal(t, l.Limits, empty.Limits)
}

func TestFileThenFlags(t *testing.T) {
	const file = `
http:
  listen_address: 127.0.0.1:1
  max_request_size: 1MiB
  cors_allowed_origins: [https://a.example, https://b.example]
storage:
  tsdb: {retention: {time: 5d, size: 2GiB}, out_of_order_time_window: 1h}
  exemplars: {max_exemplars: 7}
limits: {max_sample_age: 1d, max_future: 30s}
cache: {max_bytes: 128MiB, idle_timeout: 10m}
otlp: {promote_scope_metadata: false, le_format: openmetrics}
`
	l, err := load(t, file, "--http.listen-address=:9", "--http.cors-allowed-origins", "*", "--limits.max-future=1m", "--log.level", "debug")
	require.NoError(t, err)
	require.Equal(t, ":9", l.HTTP.ListenAddress)
	require.EqualValues(t, 1<<20, l.HTTP.MaxRequestSize)
	require.Equal(t, []string{"*"}, l.HTTP.CORSAllowedOrigins)
	require.Equal(t, model.Duration(5*24*time.Hour), l.Storage.TSDB.Retention.Time)
	require.EqualValues(t, 2<<30, l.Storage.TSDB.Retention.Size)
	require.Equal(t, model.Duration(time.Hour), l.Storage.TSDB.OutOfOrderTimeWindow)
	require.EqualValues(t, 7, l.Storage.Exemplars.MaxExemplars)
	require.Equal(t, model.Duration(24*time.Hour), l.Limits.MaxSampleAge)
	require.Equal(t, model.Duration(time.Minute), l.Limits.MaxFuture)
	require.EqualValues(t, 128<<20, l.Cache.MaxBytes)
	require.Equal(t, "debug", l.Log.Level)
	require.False(t, l.OTLP.Prometheus.PromoteScopeMetadata)
	require.Equal(t, "openmetrics", l.OTLP.LEFormat)
}

func TestRemoteWriteURLReplacesTheFilesList(t *testing.T) {
	const file = `
remote_write:
  - {url: "http://file/one"}
  - {url: "http://file/two"}
`
	l, err := load(t, file)
	require.NoError(t, err)
	require.Equal(t, ModeDirect, l.Mode())
	require.Len(t, l.RemoteWrite, 2)

	l, err = load(t, file, "--remote-write.url=http://flag/a", "--remote-write.url", "https://flag/b")
	require.NoError(t, err)
	require.Len(t, l.RemoteWrite, 2)
	require.Equal(t, "http://flag/a", l.RemoteWrite[0].Prometheus.URL.String())
	require.Equal(t, "https://flag/b", l.RemoteWrite[1].Prometheus.URL.String())
	require.True(t, l.RemoteWrite[0].Prometheus.SendNativeHistograms)
	require.True(t, l.RemoteWrite[0].Prometheus.SendExemplars)

	l, err = load(t, file, "--storage.mode=local")
	require.NoError(t, err)
	require.Equal(t, ModeLocal, l.Mode())
}

// A block as people paste it from a Prometheus that writes to Mimir.
func TestPastedPrometheusBlocksLoad(t *testing.T) {
	data, err := os.ReadFile("testdata/pasted.yaml")
	require.NoError(t, err)
	l, err := load(t, string(data))
	require.NoError(t, err)

	require.Equal(t, "eu-1", l.Global.Prometheus.ExternalLabels.Get("zone"))
	require.Equal(t, []string{"service.version"}, l.OTLP.Prometheus.PromoteResourceAttributes)
	rw := l.RemoteWrite[0].Prometheus
	require.Equal(t, "mimir", rw.Name)
	require.False(t, rw.SendExemplars, "the file's word stands")
	require.Equal(t, "swordfish", string(rw.HTTPClientConfig.BasicAuth.Password))
	require.True(t, filepath.IsAbs(rw.HTTPClientConfig.TLSConfig.CAFile), "relative to the file: %s", rw.HTTPClientConfig.TLSConfig.CAFile)
	require.Len(t, rw.WriteRelabelConfigs, 1)
	require.Equal(t, 500, rw.QueueConfig.MaxSamplesPerSend)
	require.Equal(t, []string{
		"global.scrape_interval",
		"remote_write[0].queue_config.capacity",
		"remote_write[0].queue_config.max_shards",
		"remote_write[0].metadata_config",
	}, l.Ignored)
}

func TestEveryFaultAtOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/faulty.yaml")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/faulty.want")
	require.NoError(t, err)
	_, err = load(t, string(data), "--http.max-json-size=big", "--remote-write.url=ftp://x/y", "--grpc.listen-address=4317")
	var faults Faults
	require.ErrorAs(t, err, &faults)
	if diff := cmp.Diff(strings.TrimSpace(string(want)), faults.Error()); diff != "" {
		t.Errorf("faults differ (-want +got):\n%s", diff)
	}
}

func TestSyntaxErrorNamesTheLine(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		line int
		msg  string
	}{
		"syntax":       {"http:\n  listen_address: :4318: x\n\t- y\n", 2, "mapping values"},
		"no mapping":   {"- a\n- b\n", 1, "must be a block of keys"},
		"two":          {"log: {level: info}\n---\nlog: {level: debug}\n", 2, "second document"},
		"self":         {"cache: &c\n  max_series: *c\n", 0, "must be a whole number"},
		"self merge":   {"cache: &c {<<: *c}\n", 1, "merges what merges itself"},
		"empty entry":  {"remote_write:\n  -\n", 2, "is empty"},
		"twice":        {"log: {level: info}\nlog: {level: info}\n", 2, "appears twice, first in line 1"},
		"merge on top": {"<<: {log: {level: info}}\n", 1, "unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.file)
			var faults Faults
			require.ErrorAs(t, err, &faults)
			require.Contains(t, faults.Error(), c.msg)
			if c.line > 0 {
				require.Equal(t, c.line, faults[0].Line, faults.Error())
			}
		})
	}
}

func TestAliasesAndMerges(t *testing.T) {
	l, err := load(t, `
remote_write:
  - &one {url: "http://one/", remote_timeout: 7s}
  - {<<: *one, url: "http://two/"}
`)
	require.NoError(t, err)
	require.Equal(t, "7s", l.RemoteWrite[1].Prometheus.RemoteTimeout.String())
	require.Equal(t, "http://two/", l.RemoteWrite[1].Prometheus.URL.String())

	_, err = load(t, "remote_write:\n  - {url: \"http://one/\", <<: {frob: 1}}\n")
	require.ErrorContains(t, err, "line 2: remote_write[0].frob: unknown key")
}

func TestUnreadableFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"), nil, os.Getenv)
	require.ErrorContains(t, err, "--config.file: open")
}

func TestInstanceFrom(t *testing.T) {
	l, err := load(t, "otlp: {instance_from: [host.name+process.pid, peer_ip]}\n")
	require.NoError(t, err)
	require.Equal(t, []string{"host.name+process.pid", "peer_ip"}, l.OTLP.InstanceFrom)

	for entry, want := range map[string]string{
		`""`:                        "must name resource attributes",
		"host.name+":                "must name resource attributes",
		"peer_ip+host.name":         "cannot be joined",
		`"host.name + process.pid"`: "has a space",
		"host.name, host.name":      "is listed twice",
	} {
		_, err := load(t, "otlp:\n  instance_from: ["+entry+"]\n")
		require.ErrorContains(t, err, "line 2: otlp.instance_from: ", entry)
		require.ErrorContains(t, err, want, entry)
	}
	l, err = load(t, "otlp: {instance_from: [host.name]}\n", "--otlp.instance-from=peer_ip", "--otlp.instance-from=k8s.pod.uid")
	require.NoError(t, err)
	require.Equal(t, []string{"peer_ip", "k8s.pod.uid"}, l.OTLP.InstanceFrom)
}

func TestNegativeLimits(t *testing.T) {
	for _, key := range []string{
		"max_label_names_per_series", "max_label_name_length", "max_label_value_length", "max_series_per_metric",
		"max_active_series", "max_exemplars_per_series", "max_exemplars_per_request",
	} {
		_, err := load(t, "limits: {"+key+": -1}\n")
		require.ErrorContains(t, err, "limits."+key+`: "-1": must not be negative; 0 is no limit`)
	}
}
