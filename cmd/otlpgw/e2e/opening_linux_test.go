package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// While the store opens, the admin pages answer. A pipe in place of the log's
// first segment makes the replay wait until this test lets it go on.
func TestAdminAnswersWhileTheStoreOpens(t *testing.T) {
	data := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(data, "wal"), 0o755))
	segment := filepath.Join(data, "wal", "00000000")
	require.NoError(t, syscall.Mkfifo(segment, 0o600))

	p := launch(t, "--http.listen-address=127.0.0.1:0", "--grpc.listen-address=127.0.0.1:0", "--admin.listen-address=127.0.0.1:0", "--storage.path="+data)
	p.admin = p.waitLog(t, `msg=listening listener=admin address=(\S+)`)[1]
	p.waitLog(t, `Replaying WAL`)
	for path, want := range map[string]int{
		"/-/healthy":                http.StatusOK,
		"/metrics":                  http.StatusOK,
		"/-/config":                 http.StatusOK,
		"/-/ready":                  http.StatusServiceUnavailable,
		"/api/v1/query?query=up":    http.StatusServiceUnavailable,
		"/debug/conflicts":          http.StatusServiceUnavailable,
		"/debug/cardinality":        http.StatusServiceUnavailable,
		"/api/v1/status/tsdb?x=y&z": http.StatusServiceUnavailable,
	} {
		code, body := get(t, p.url(path))
		require.Equal(t, want, code, "%s: %s", path, body)
	}
	_, why := get(t, p.url("/-/ready"))
	require.Equal(t, "not ready: the store is still opening\n", why)
	require.NotContains(t, p.log.String(), "listener=http")

	// The replay reads an empty segment, and goes on.
	f, err := os.OpenFile(segment, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	p.waitLog(t, `msg=listening listener=http`)
	p.waitLog(t, `msg=listening listener=grpc`)
	code, body := get(t, p.url("/-/ready"))
	require.Equal(t, http.StatusOK, code, body)
	p.stop(t)
}
