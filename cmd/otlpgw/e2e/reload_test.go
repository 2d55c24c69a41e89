package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/stretchr/testify/require"
)

// SIGHUP goes over to another destination; a request that waits for the old one
// is answered by it. A bad file changes nothing. Neither ends the process.
func TestHangupReloads(t *testing.T) {
	one, two := newReceiver(t, remoteapi.WriteV2MessageType), newReceiver(t, remoteapi.WriteV2MessageType)
	arrived, gate := make(chan struct{}), make(chan struct{})
	one.setDoor(func(http.ResponseWriter, *http.Request) bool {
		close(arrived)
		<-gate
		return true
	})
	file := filepath.Join(t.TempDir(), "otlpgw.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("remote_write: [{url: \"" + one.url + "\"}]\n")
	p := start(t, "--config.file="+file, "--direct.ack-timeout=1m")
	p.waitLog(t, `msg="series are sent" destination=127\.0\.0\.1:\d+ url=`)
	p.waitLog(t, "msg=ready")
	answered := make(chan int, 1)
	go func() {
		code, _, err := post("http://"+p.http+"/v1/metrics", gauge("held", "a", 1))
		if err != nil {
			code = 0
		}
		answered <- code
	}()
	<-arrived

	write("remote_write: [{url: nowhere}]\n")
	p.signal(t, syscall.SIGHUP)
	p.waitLog(t, `level=ERROR msg="the configuration was not reloaded, .*must start with http`)

	write("remote_write: [{url: \"" + two.url + "\", name: second}]\n")
	p.signal(t, syscall.SIGHUP)
	p.waitLog(t, "destination=second")
	close(gate)
	require.Equal(t, http.StatusOK, <-answered)
	p.waitLog(t, `msg="the configuration was reloaded"`)
	p.push(t, gauge("held", "b", 2))
	require.Equal(t, []string{`held instance="a" job="shop" 1`}, one.query(t, "held"))
	require.Equal(t, []string{`held instance="b" job="shop" 2`}, two.query(t, "held"))
	_, page := get(t, p.url("/metrics"))
	require.Contains(t, page, "\notlpgw_config_last_reload_successful 1\n")
	require.Contains(t, page, "\notlpgw_build_info{")
	p.stop(t)
}
