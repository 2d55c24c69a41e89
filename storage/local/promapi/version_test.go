package promapi

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionIsTheEngines: the API's version moves with the module.
func TestVersionIsTheEngines(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	found := regexp.MustCompile(`github\.com/prometheus/prometheus v0\.(\d)(\d\d)\.(\d+)\n`).FindSubmatch(mod)
	require.NotNil(t, found)
	require.Equal(t, apiVersion, string(found[1])+"."+string(found[2])+"."+string(found[3]))
}
