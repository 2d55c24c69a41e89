package explain

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
)

// Whatever bytes it is given, explain explains or says that it cannot; and what
// can be explained can be compared.
func FuzzExplain(f *testing.F) {
	files, err := filepath.Glob("testdata/captures/*")
	require.NoError(f, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Open(raw, 1<<20)
		if err != nil {
			return
		}
		r, err := Run(t.Context(), converter.Options{}, p)
		_, compareErr := Compare(t.Context(), converter.Options{}, p, otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.NoTranslation)
		if err != nil {
			require.Error(t, compareErr)
			return
		}
		require.NoError(t, compareErr)
		require.NoError(t, r.WriteText(io.Discard))
		require.NoError(t, r.WriteJSON(io.Discard))
	})
}
