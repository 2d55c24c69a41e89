package e2e

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	promconfig "github.com/prometheus/prometheus/config"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
)

// The compose file is YAML, its flags are ours, and the Prometheus in it gets a
// configuration that Prometheus takes.
func TestComposeFile(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Image   string
			Build   string
			Command []string
			Ports   []string
			Configs []struct{ Source, Target string }
		}
		Configs map[string]struct{ Content string }
	}
	require.NoError(t, yaml.Unmarshal(b, &file))

	gw := file.Services["otlpgw"]
	require.FileExists(t, filepath.Join(root, gw.Build, "Dockerfile"))
	require.Equal(t, []string{"4317:4317", "4318:4318", "127.0.0.1:9465:9465"}, gw.Ports)
	flags, err := config.ParseFlags(gw.Command, new(strings.Builder))
	require.NoError(t, err)
	c, err := config.Load("", flags, os.Getenv)
	require.NoError(t, err)
	require.Equal(t, config.ModeDirect, c.Mode())
	require.Equal(t, "prometheus:9090", c.RemoteWrite[0].Prometheus.URL.Host)

	prom := file.Services["prometheus"]
	require.Contains(t, prom.Command, "--web.enable-remote-write-receiver")
	require.Contains(t, prom.Command, "--config.file="+prom.Configs[0].Target)
	_, err = promconfig.Load(file.Configs[prom.Configs[0].Source].Content, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for name, s := range file.Services {
		for _, use := range s.Configs {
			require.Contains(t, file.Configs, use.Source, name)
		}
	}
}
