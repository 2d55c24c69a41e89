package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// needDebian skips the test where Prometheus is no program of the system. CI
// installs Debian's package where there is apt-get.
func needDebian(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err == nil {
		return path
	}
	const missing = "there is no prometheus on this machine; Debian's package of that name brings it"
	if _, apt := exec.LookPath("apt-get"); apt == nil && os.Getenv("CI") == "true" {
		t.Fatal(missing + ", and CI installs it")
	}
	t.Skip("skipped the tests with Debian's Prometheus: " + missing)
	return ""
}

// debian is a server of Debian's package prometheus, with its own receiver,
// database and API. Its version (2.42 in Debian 12) speaks remote write 1.0
// only, and does not say so: it reads a message of 2.0 as an empty one of 1.0
// and answers 204.
type debian struct {
	apiStore

	url string // of the receiver
}

func startDebian(t *testing.T) debian {
	t.Helper()
	path := needDebian(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cmd := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0", "--web.enable-remote-write-receiver",
		"--enable-feature=exemplar-storage,native-histograms")
	log := newLogBuffer()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	exited := make(chan struct{})
	go func() {
		_, _ = io.Copy(log, stderr)
		_ = cmd.Wait()
		log.close()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("prometheus\n%s", log)
		}
	})
	wait := func(pattern string) []string {
		m, ok := log.wait(regexp.MustCompile(pattern), time.After(patience))
		require.True(t, ok, "no %q in the log:\n%s", pattern, log)
		return m
	}
	address := wait(`msg="Listening on" address=(\S+)`)[1]
	wait(`msg="Server is ready to receive web requests."`)
	return debian{apiStore{address}, "http://" + address + "/api/v1/write"}
}

// TestDebianPrometheus pushes with the Go SDK to a gateway whose far end is a
// Prometheus that knows nothing of remote write 2.0, and asks it for all that
// was pushed.
func TestDebianPrometheus(t *testing.T) {
	for _, d := range []destination{
		{"by default", func(t *testing.T) (*process, store) {
			far := startDebian(t)
			return start(t, "--remote-write.url="+far.url), far
		}},
		{"remote write 1.0", func(t *testing.T) (*process, store) {
			far := startDebian(t)
			file := filepath.Join(t.TempDir(), "otlpgw.yml")
			text := "remote_write: [{url: " + far.url + ", protobuf_message: prometheus.WriteRequest}]\n"
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			return start(t, "--config.file="+file), far
		}},
	} {
		t.Run(d.name, func(t *testing.T) { push(t, d, goPushers) })
	}
}
