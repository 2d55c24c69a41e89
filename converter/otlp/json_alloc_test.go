//go:build !race

package otlp

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJSONAllocatesNothing holds without the race detector, whose
// instrumentation moves variables to the heap.
func TestJSONAllocatesNothing(t *testing.T) {
	src, err := os.ReadFile("testdata/request.json")
	require.NoError(t, err)
	dst := make([]byte, 0, len(src))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := AppendJSON(dst, src); err != nil {
			t.Fatal(err)
		}
	}))
}
