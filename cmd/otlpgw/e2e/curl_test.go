package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// curlEnv makes the test binary act as curl, see curlDir.
const curlEnv = "OTLPGW_E2E_CURL"

// curlDir returns a directory for the front of PATH. On a machine without curl
// it holds a stand-in for what the README needs of it.
func curlDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := exec.LookPath("curl"); err == nil {
		return dir
	}
	self, err := os.Executable()
	require.NoError(t, err)
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", curlEnv, self)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "curl"), []byte(script), 0o700))
	return dir
}

// curl posts: -s, -H HEADER, -d DATA, URL.
func curl(args []string, stdout, stderr io.Writer) int {
	header, data, url := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "", ""
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "-s":
		case (arg == "-H" || arg == "-d") && len(args) > 0:
			if name, value, _ := strings.Cut(args[0], ":"); arg == "-H" {
				header.Set(name, strings.TrimSpace(value))
			} else {
				data = args[0]
			}
			args = args[1:]
		case strings.HasPrefix(arg, "-"):
			fmt.Fprintln(stderr, "this stand-in for curl does not know", arg)
			return 2
		default:
			url = "http://" + arg
		}
	}
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(data))
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 3
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 7
	}
	defer resp.Body.Close()
	if _, err := io.Copy(stdout, resp.Body); err != nil {
		fmt.Fprintln(stderr, err)
		return 56
	}
	return 0
}

// The stand-in is tested everywhere, so that it does not rot where curl is.
func TestCurlStandIn(t *testing.T) {
	p := start(t)
	var out, errs strings.Builder
	code := curl([]string{"-s", p.http + "/v1/metrics", "-H", "Content-Type: application/json", "-d", gauge("stand_in", "c", 3)}, &out, &errs)
	require.Zero(t, code, errs.String())
	require.Equal(t, "{}", strings.TrimSpace(out.String()))
	require.Equal(t, []string{`stand_in instance="c" job="shop" 3`}, apiStore{p.admin}.query(t, "stand_in"))
	require.Equal(t, 2, curl([]string{"--frob"}, &out, &errs))
	p.stop(t)
}
