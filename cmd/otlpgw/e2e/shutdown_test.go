package e2e

import (
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/stretchr/testify/require"
)

// held starts a gateway with one request that waits for the far end.
func held(t *testing.T, args ...string) (p *process, r *receiver, answered chan int, release func()) {
	t.Helper()
	r = newReceiver(t, remoteapi.WriteV2MessageType)
	arrived, gate := make(chan struct{}), make(chan struct{})
	r.setDoor(func(http.ResponseWriter, *http.Request) bool {
		r.setDoor(nil)
		close(arrived)
		<-gate
		return true
	})
	p = start(t, append([]string{"--remote-write.url=" + r.url, "--direct.ack-timeout=1m"}, args...)...)
	answered = make(chan int, 1)
	go func() {
		code, _, err := post("http://"+p.http+"/v1/metrics", gauge("held", "drain", 1))
		if err != nil {
			code = 0
		}
		answered <- code
	}()
	<-arrived
	var open bool
	release = func() {
		if !open {
			open = true
			close(gate)
		}
	}
	t.Cleanup(release)
	return p, r, answered, release
}

// SIGTERM and SIGINT alike: not ready, no new connections, the request in
// flight is answered, exit 0.
func TestSignalDrains(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			p, r, answered, release := held(t)
			code, _ := get(t, p.url("/-/ready"))
			require.Equal(t, http.StatusOK, code)

			p.signal(t, sig)
			p.waitLog(t, "msg=stopping")
			require.Eventually(t, func() bool {
				code, _ := get(t, p.url("/-/ready"))
				return code == http.StatusServiceUnavailable
			}, patience, 10*time.Millisecond, "not ready while it drains")
			code, _ = get(t, p.url("/-/healthy"))
			require.Equal(t, http.StatusOK, code, "healthy until the end, or it would be restarted")
			require.Eventually(t, func() bool {
				c, err := net.Dial("tcp", p.http)
				if err == nil {
					_ = c.Close()
				}
				return err != nil
			}, patience, 10*time.Millisecond, "no new connections")
			select {
			case code := <-answered:
				require.Fail(t, "answered before the far end did", "%d", code)
			default:
			}

			release()
			require.Equal(t, http.StatusOK, <-answered)
			require.Zero(t, p.wait(t), "%s", p.log)
			require.Equal(t, []string{`held instance="drain" job="shop" 1`}, r.query(t, `held`))
		})
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	p, _, answered, _ := held(t)
	p.signal(t, syscall.SIGTERM)
	p.waitLog(t, "msg=stopping")
	p.signal(t, syscall.SIGTERM)
	require.NotZero(t, p.wait(t))
	require.Zero(t, <-answered, "the connection was cut")
}

// timeout(1) sends its signal twice, to the process and to its group. That is
// one signal, and the request in flight is answered.
func TestSignalToProcessAndGroupIsOne(t *testing.T) {
	p, _, answered, release := held(t)
	p.signal(t, syscall.SIGTERM)
	p.signal(t, syscall.SIGTERM)
	p.waitLog(t, "msg=stopping")
	release()
	require.Equal(t, http.StatusOK, <-answered)
	require.Zero(t, p.wait(t), "%s", p.log)
}

func TestShutdownTimeoutCutsOff(t *testing.T) {
	p, _, answered, _ := held(t, "--shutdown.timeout=50ms")
	p.signal(t, syscall.SIGTERM)
	require.Equal(t, 1, p.wait(t))
	require.NotEqual(t, http.StatusOK, <-answered)
	require.Contains(t, p.log.String(), "shutdown.timeout")
}

func TestStartFailures(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	file := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	free := []string{"--http.listen-address=127.0.0.1:0", "--grpc.listen-address=127.0.0.1:0", "--admin.listen-address=127.0.0.1:0"}

	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"address taken": {[]string{"--grpc.listen-address=" + taken.Addr().String()}, "--grpc.listen-address: listen tcp"},
		"no directory":  {[]string{"--storage.path=" + file}, "--storage.path"},
		"bad flag":      {[]string{"--http.max-request-size=lots"}, `--http.max-request-size: "lots": not a size`},
		"unknown flag":  {[]string{"--frobnicate"}, "--frobnicate"},
		"no file":       {[]string{"--config.file=absent.yaml"}, "--config.file: open absent.yaml"},
		"mode":          {[]string{"--storage.mode=durable"}, "not supported in this version"},
	} {
		t.Run(name, func(t *testing.T) {
			p := launch(t, append(free[:len(free):len(free)], c.args...)...)
			require.Equal(t, 1, p.wait(t))
			require.Contains(t, p.log.String(), c.want)
		})
	}
}
