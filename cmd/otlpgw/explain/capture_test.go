package explain

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
)

var rewrite = flag.Bool("rewrite", false, "renew the expected texts in testdata/captures; read the diff")

// What the SDKs of OpenTelemetry sent once is explained as
// the files beside it say: the series, the same as JSON, and the names by two
// strategies.
func TestCaptures(t *testing.T) {
	o := converter.Options{Now: func() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }}
	var files []string
	for _, pattern := range []string{"*.pb", "*-json.json"} {
		found, err := filepath.Glob(filepath.Join("testdata/captures", pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Len(t, files, 5, "Go: http, grpc; Node: proto, json, grpc")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			p, err := Open(raw, 1<<20)
			require.NoError(t, err)
			require.Equal(t, strings.HasSuffix(file, ".json"), p.JSON)

			r, err := Run(t.Context(), o, p)
			require.NoError(t, err)
			var text, doc, names bytes.Buffer
			require.NoError(t, r.WriteText(&text))
			require.NoError(t, r.WriteJSON(&doc))
			n, err := Compare(t.Context(), o, p, otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.NoTranslation)
			require.NoError(t, err)
			require.NoError(t, n.WriteText(&names))
			for ending, got := range map[string]string{
				".series.txt": text.String(), ".series.json": doc.String(), ".names.txt": names.String(),
			} {
				if *rewrite {
					require.NoError(t, os.WriteFile(file+ending, []byte(got), 0o644))
				}
				want, err := os.ReadFile(file + ending)
				require.NoError(t, err)
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", ending, diff)
				}
			}
		})
	}
}
