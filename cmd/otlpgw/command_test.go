package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func call(args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = run(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestVersion(t *testing.T) {
	code, out, _ := call("version")
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(out, "otlpgw "+version+" (go"), out)
}

func TestHelp(t *testing.T) {
	code, out, errs := call("--help")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Contains(t, out, "--http.listen-address=:4318")
}

func TestCheckConfig(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	require.NoError(t, os.WriteFile(good, []byte("remote_write: [{url: \"http://x/\", round_robin_dns: true}]\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("htp: {}\nlog:\n  level: loud\n"), 0o600))

	code, out, _ := call("check-config", good)
	require.Zero(t, code)
	require.Equal(t, good+": remote_write[0].round_robin_dns: accepted and not honoured\n"+good+": ok, storage.mode direct\n", out)

	code, out, _ = call("check-config", bad)
	require.Equal(t, 1, code)
	require.Equal(t, bad+": line 1: htp: unknown key; did you mean http?\n"+
		bad+`: line 3: log.level: "loud": must be debug, info, warn or error`+"\n", out)

	require.NoError(t, os.WriteFile(bad, []byte("http: {cors_allowed_origins: [shop.example]}\n"), 0o600))
	code, out, _ = call("check-config", bad)
	require.Equal(t, 1, code)
	require.Contains(t, out, `"shop.example" is no origin`)

	code, out, errs := call("check-config", filepath.Join(dir, "absent.yaml"))
	require.Equal(t, 1, code)
	require.Contains(t, out+errs, "no such file")

	code, _, errs = call("check-config")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "usage: otlpgw check-config FILE")
}
