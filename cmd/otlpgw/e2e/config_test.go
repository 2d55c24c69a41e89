package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page shows what is in force and no secret; what is not honoured is told
// once.
func TestEffectiveConfigurationAndWarning(t *testing.T) {
	name := filepath.Join(t.TempDir(), "otlpgw.yaml")
	require.NoError(t, os.WriteFile(name, []byte(`
remote_write:
  - url: http://far.example/write
    basic_auth: {username: u, password: swordfish}
    round_robin_dns: true
    queue_config: {max_shards: 3}
`), 0o600))
	p := start(t, "--config.file="+name, "--direct.ack-timeout=7s")
	code, page := get(t, p.url("/-/config"))
	require.Equal(t, http.StatusOK, code)
	require.NotContains(t, page, "swordfish")
	require.Contains(t, page, "username: u")
	require.Contains(t, page, "ack_timeout: 7s")
	require.Contains(t, page, "mode: direct")

	require.Equal(t, 1, strings.Count(p.log.String(), "level=WARN"), "%s", p.log)
	p.waitLog(t, `level=WARN msg="keys of the configuration file that are accepted and not honoured" keys="remote_write\[0\].round_robin_dns remote_write\[0\].queue_config.max_shards"`)
	require.NotContains(t, p.log.String(), "swordfish")
	p.stop(t)
}

func TestJSONLog(t *testing.T) {
	p := launch(t, "--log.format=json", "--http.listen-address=127.0.0.1:0", "--grpc.listen-address=", "--admin.listen-address=")
	p.waitLog(t, `"msg":"listening","listener":"http"`)
	p.stop(t)
	for line := range strings.Lines(p.log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.NotContains(t, p.log.String(), `"listener":"grpc"`, "an empty address is off")
}
