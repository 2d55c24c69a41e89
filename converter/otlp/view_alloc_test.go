//go:build !race

package otlp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// Walking a request to the bottom allocates nothing, however it is written: the
// scratch that joins what comes in pieces is the caller's and grows once.
func TestViewsAllocateNothing(t *testing.T) {
	for _, e := range convertertest.Encodings(3) {
		if e.JSON {
			continue
		}
		body, err := e.Encode(sample(t))
		require.NoError(t, err)
		w := new(walker)
		require.Zero(t, testing.AllocsPerRun(50, func() {
			if err := w.request(body); err != nil {
				t.Fatal(err)
			}
		}), e.Name)
		require.Positive(t, w.points)
	}
}
