package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const nodeDir = "testdata/node"

// needNode skips the test where Node or its packages are missing. CI must have
// them.
func needNode(t *testing.T) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "there is no node on this machine"
	} else if _, err := os.Stat(filepath.Join(nodeDir, "node_modules", "@opentelemetry")); err != nil {
		missing = "the npm packages are not installed; make test does that"
	}
	switch {
	case missing == "":
	case os.Getenv("CI") == "true":
		t.Fatalf("%s, and CI needs the Node SDK's tests", missing)
	default:
		t.Skipf("skipped the Node SDK's tests: %s", missing)
	}
}

func pushNode(t *testing.T, kind, url, instance string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "push.js", kind, url, instance)
	cmd.Dir = nodeDir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestNodeSDK(t *testing.T) {
	needNode(t)
	runPushers(t, []pusher{
		{"node-proto", false, func(t *testing.T, p *process, instance string) {
			pushNode(t, "proto", "http://"+p.http+"/v1/metrics", instance)
		}},
		{"node-json", false, func(t *testing.T, p *process, instance string) {
			pushNode(t, "json", "http://"+p.http+"/v1/metrics", instance)
		}},
		{"node-grpc", false, func(t *testing.T, p *process, instance string) {
			pushNode(t, "grpc", "http://"+p.grpc, instance)
		}},
	})
}
