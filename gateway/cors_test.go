package gateway

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCORSOrigins(t *testing.T) {
	tests := []struct {
		pattern, origin string
		allowed         bool
	}{
		{"*", "https://any.example", true},
		{"https://shop.example", "https://shop.example", true},
		{"https://shop.example", "https://SHOP.example", true},
		{"https://shop.example", "http://shop.example", false},
		{"https://shop.example", "https://shop.example.evil", false},
		{"https://shop.example:8443", "https://shop.example", false},
		{"https://*.example", "https://a.example", true},
		{"https://*.example", "https://a.b.example", true},
		{"https://*.example", "https://.example", false},
		{"https://*.example", "https://aexample", false},
		{"http://localhost:*", "http://localhost:3000", true},
		{"https://shop.example", "null", false},
	}
	for _, tt := range tests {
		require.NoError(t, checkOrigin(tt.pattern))
		require.Equal(t, tt.allowed, newCORS([]string{"https://other.test", tt.pattern}).allows(tt.origin), "%s for %s", tt.pattern, tt.origin)
	}
	for _, bad := range []string{"", "shop.example", "https://", "https://*.*.example", "https://shop.example/path", "://x"} {
		require.ErrorContains(t, checkOrigin(bad), "http.cors-allowed-origins", bad)
	}
}

func TestCORS(t *testing.T) {
	preflight := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-api-key"}
	g := start(t, Options{Settings: Settings{CORSAllowedOrigins: []string{"https://*.example"}}})

	a := g.send(http.MethodOptions, "/v1/metrics", nil, append(preflight, "Origin", "https://shop.example")...)
	require.Equal(t, http.StatusNoContent, a.code)
	require.Equal(t, "https://shop.example", a.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", a.header.Get("Access-Control-Allow-Credentials"))
	require.Equal(t, "POST", a.header.Get("Access-Control-Allow-Methods"))
	require.Equal(t, "content-type,x-api-key", a.header.Get("Access-Control-Allow-Headers"))
	require.Contains(t, a.header.Values("Vary"), "Origin")

	a = g.send(http.MethodOptions, "/v1/metrics", nil, append(preflight, "Origin", "https://shop.evil")...)
	require.Equal(t, http.StatusForbidden, a.code)
	require.Empty(t, a.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, a.status(t).Message, "https://shop.evil")

	a = g.send(http.MethodOptions, "/elsewhere", nil, append(preflight, "Origin", "https://shop.example")...)
	require.Equal(t, http.StatusNotFound, a.code)

	a = g.post("/v1/metrics", []byte("{}"), "Content-Type", jsonType, "Origin", "https://shop.example")
	require.Equal(t, http.StatusOK, a.code)
	require.Equal(t, "https://shop.example", a.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Retry-After", a.header.Get("Access-Control-Expose-Headers"))

	// An error is only of use to the page if the page may read it.
	a = g.post("/v1/metrics", nil, "Content-Type", "text/plain", "Origin", "https://shop.example")
	require.Equal(t, http.StatusUnsupportedMediaType, a.code)
	require.Equal(t, "https://shop.example", a.header.Get("Access-Control-Allow-Origin"))

	a = g.post("/v1/metrics", []byte("{}"), "Content-Type", jsonType, "Origin", "https://shop.evil")
	require.Equal(t, http.StatusOK, a.code)
	require.Empty(t, a.header.Get("Access-Control-Allow-Origin"))

	all := start(t, Options{Settings: Settings{CORSAllowedOrigins: []string{"*"}}})
	a = all.send(http.MethodOptions, "/v1/metrics", nil, append(preflight, "Origin", "https://shop.example")...)
	require.Equal(t, http.StatusNoContent, a.code)
	require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, a.header.Get("Access-Control-Allow-Credentials"))

	none := start(t, Options{})
	a = none.send(http.MethodOptions, "/v1/metrics", nil, append(preflight, "Origin", "https://shop.example")...)
	require.Equal(t, http.StatusMethodNotAllowed, a.code)
	require.Empty(t, a.header.Get("Access-Control-Allow-Origin"))
}
