package gateway

import (
	"fmt"
	"net/http"
	"strings"
)

// cors lets pages of other origins send OTLP/HTTP. It follows the Fetch
// standard's protocol: a preflight is answered without a body, and the answer
// to a request names the origin that may read it.
type cors struct {
	any      bool
	patterns []string // lower case; at most one * each
}

// checkOrigin says what is wrong with an entry of CORSAllowedOrigins.
func checkOrigin(pattern string) error {
	if pattern == "*" {
		return nil
	}
	scheme, host, ok := strings.Cut(pattern, "://")
	if !ok || scheme == "" || host == "" || strings.ContainsAny(host, "/ ") || strings.Count(pattern, "*") > 1 {
		return fmt.Errorf(`http.cors-allowed-origins: %q is no origin, want "*" or scheme://host[:port] with at most one * in it`, pattern)
	}
	return nil
}

func newCORS(origins []string) *cors {
	if len(origins) == 0 {
		return nil
	}
	c := &cors{}
	for _, o := range origins {
		if o == "*" {
			c.any = true
		}
		c.patterns = append(c.patterns, strings.ToLower(o))
	}
	return c
}

// allows reports whether origin may send.
func (c *cors) allows(origin string) bool {
	if c.any {
		return true
	}
	origin = strings.ToLower(origin)
	for _, p := range c.patterns {
		before, after, wild := strings.Cut(p, "*")
		if !wild {
			if p == origin {
				return true
			}
			continue
		}
		// Longer than both parts together: * stands for at least one character.
		if len(origin) > len(before)+len(after) && strings.HasPrefix(origin, before) && strings.HasSuffix(origin, after) {
			return true
		}
	}
	return false
}

// annotate adds what lets the page read the answer, and reports whether origin
// may send at all.
func (c *cors) annotate(h http.Header, origin string) bool {
	h.Add("Vary", "Origin")
	if !c.allows(origin) {
		return false
	}
	if c.any {
		h.Set("Access-Control-Allow-Origin", "*")
	} else {
		// Browser SDKs use sendBeacon, which always has credentials; the
		// standard forbids those together with "*".
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	h.Set("Access-Control-Expose-Headers", "Retry-After")
	return true
}

// preflight answers the question that a browser asks before it sends.
func (c *cors) preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", http.MethodPost)
	// Exporters add headers of their users' choice, so what is asked for is
	// granted: the origin was the decision.
	if asked := r.Header["Access-Control-Request-Headers"]; len(asked) > 0 {
		h["Access-Control-Allow-Headers"] = asked
		h.Add("Vary", "Access-Control-Request-Headers")
	}
	h.Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
}
