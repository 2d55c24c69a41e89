package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// party is a kind of process that takes OTLP and writes to a sink.
type party struct {
	// name is that of its row in the table, program that of its binary.
	name, program string
	// path is where it takes OTLP over HTTP.
	path string
	// args makes its command line, and the files that it needs under dir.
	args func(s setting) ([]string, error)
	// async says that it answers before the far end has.
	async bool
}

// setting is what a process is started with.
type setting struct {
	listen, admin, url, dir string
}

// write makes a file of the process and returns its path.
func (s setting) write(name, text string) (string, error) {
	path := filepath.Join(s.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

const (
	v1 = "prometheus.WriteRequest"
	v2 = "io.prometheus.write.v2.Request"
)

// ours are measured always, relay first: it is the floor.
var ours = []party{
	{name: "relay", program: "relay", path: "/v1/metrics", args: relay},
	{name: "otlpgw RW 2.0", program: "otlpgw", path: "/v1/metrics", args: otlpgw(v2)},
	{name: "otlpgw RW 1.0", program: "otlpgw", path: "/v1/metrics", args: otlpgw(v1)},
}

// peers are measured if their programs are there.
var peers = []party{
	{name: "vmagent, zstd", program: "vmagent", path: "/opentelemetry/v1/metrics", args: vmagent(), async: true},
	{name: "vmagent, Snappy", program: "vmagent", path: "/opentelemetry/v1/metrics", args: vmagent("-remoteWrite.forcePromProto"), async: true},
	{name: "Prometheus agent RW 2.0", program: "prometheus", path: "/api/v1/otlp/v1/metrics", args: agent(v2), async: true},
	{name: "Prometheus agent RW 1.0", program: "prometheus", path: "/api/v1/otlp/v1/metrics", args: agent(v1), async: true},
	{name: "OTel Collector", program: "otelcol", path: "/v1/metrics", args: otelcol, async: true},
}

func relay(s setting) ([]string, error) {
	body, err := readyMade(startNs / 1e6)
	if err != nil {
		return nil, err
	}
	file, err := s.write("body", string(body))
	return []string{"-listen", s.listen, "-url", s.url, "-body", file}, err
}

func otlpgw(message string) func(setting) ([]string, error) {
	return func(s setting) ([]string, error) {
		file, err := s.write("otlpgw.yml", fmt.Sprintf("remote_write:\n- url: %s\n  protobuf_message: %s\n", s.url, message))
		return []string{
			"--config.file=" + file, "--http.listen-address=" + s.listen, "--grpc.listen-address=",
			"--admin.listen-address=" + s.admin,
		}, err
	}
}

func vmagent(more ...string) func(setting) ([]string, error) {
	return func(s setting) ([]string, error) {
		return append([]string{
			"-httpListenAddr=" + s.listen, "-remoteWrite.url=" + s.url, "-remoteWrite.tmpDataPath=" + filepath.Join(s.dir, "queue"),
			"-opentelemetry.usePrometheusNaming",
		}, more...), nil
	}
}

func agent(message string) func(setting) ([]string, error) {
	return func(s setting) ([]string, error) {
		file, err := s.write("prometheus.yml", fmt.Sprintf("remote_write:\n- url: %s\n  protobuf_message: %s\n", s.url, message))
		return []string{
			"--agent", "--web.enable-otlp-receiver", "--config.file=" + file, "--storage.agent.path=" + filepath.Join(s.dir, "wal"),
			"--web.listen-address=" + s.listen,
		}, err
	}
}

func otelcol(s setting) ([]string, error) {
	file, err := s.write("otelcol.yml", fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {prometheusremotewrite: {endpoint: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [prometheusremotewrite]}}
`, s.listen, s.url))
	return []string{"--config", file}, err
}

// programs says how each is built from the root of the repository.
var programs = map[string][]string{
	"relay":      {"./bench/load/relay"},
	"otlpgw":     {"./cmd/otlpgw"},
	"vmagent":    {"-C", "bench/peers/program/vmagent", "github.com/VictoriaMetrics/VictoriaMetrics/app/vmagent"},
	"prometheus": {"-C", "bench/peers/program/prometheus", "-tags", "remove_all_sd", "github.com/prometheus/prometheus/cmd/prometheus"},
	"otelcol":    {"-C", "bench/peers/program/otelcol", "."},
}

// build builds a program into dir and returns its path.
func build(ctx context.Context, root, dir, program string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, program))
	if err != nil {
		return "", err
	}
	// go build wants -C first and the package last.
	how := programs[program]
	args := []string{"build"}
	if how[0] == "-C" {
		args, how = append(args, how[:2]...), how[2:]
	}
	cmd := exec.CommandContext(ctx, "go", append(append(args, "-o", path), how...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return path, nil
}
