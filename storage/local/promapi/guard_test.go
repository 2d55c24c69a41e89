package promapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/local/promapi"
)

// Queries that cost memory or time before any limit of the engine are refused.
func TestHostileQueries(t *testing.T) {
	f := serve(t, promapi.Options{})
	for name, query := range map[string]string{
		"depth":    strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000),
		"length":   strings.Repeat("1+", 100_000) + "1",
		"subquery": "max_over_time(vector(1)[1000d:1ms])",
		"default":  "max_over_time(vector(1)[100y:])",
		"within":   "1 + sum(max_over_time(vector(1)[1000d:1ms]))",
	} {
		for _, path := range []string{"query", "format_query", "query_exemplars"} {
			code, body := f.do(http.MethodPost, path, form("query", query, "start", "0", "end", "1"))
			require.Equal(t, http.StatusBadRequest, code, "%s %s: %.200s", name, path, body)
			require.Contains(t, body, `"errorType":"bad_data"`, name)
		}
	}
	code, body := f.do(http.MethodGet, "query", form("query", "max_over_time(vector(1)[1d:1m])"))
	require.Equal(t, http.StatusOK, code, "%s", body)
}
