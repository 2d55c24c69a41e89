package config

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	commonconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"
)

// Tenants says whose a request is, who may send, and how destinations are told.
type Tenants struct {
	From          []TenantSource `yaml:"from,omitempty"`
	Default       string         `yaml:"default,omitempty"`
	ForwardHeader string         `yaml:"forward_header"`
	Allow         []string       `yaml:"allow,omitempty"`
	Max           int            `yaml:"max"`
}

// TenantSource is one place where the tenant may be said: one of its keys.
type TenantSource struct {
	Header            string `yaml:"header,omitempty"`
	Path              string `yaml:"path,omitempty"`
	ResourceAttribute string `yaml:"resource_attribute,omitempty"`

	// Accepted for what the message says: no version has it yet.
	TLSCommonName any `yaml:"tls_common_name,omitempty"`
}

func (s *TenantSource) hasOneKey() bool {
	n := 0
	for _, key := range []string{s.Header, s.Path, s.ResourceAttribute} {
		if key != "" {
			n++
		}
	}
	return n == 1
}

// DefaultForwardHeader is Mimir's, Loki's and Tempo's.
const DefaultForwardHeader = "X-Scope-OrgID"

// UnmarshalYAML reads the block over its defaults.
func (t *Tenants) UnmarshalYAML(n *yaml.Node) error {
	type plain Tenants
	*t = Tenants{ForwardHeader: DefaultForwardHeader, Max: 1000}
	return n.Decode((*plain)(t))
}

// validateTenants leaves names and paths to the gateway, which has their rules.
func (c *Config) validateTenants(report func(path, value, msg string)) {
	t := c.Tenants
	if t == nil {
		return
	}
	if c.Mode() != ModeDirect {
		report("tenants", "", "needs storage.mode direct: the embedded TSDB does not keep tenants apart")
	}
	if len(t.From) == 0 && t.Default == "" {
		report("tenants.from", "", "missing; say where the tenant of a request is found, or set tenants.default")
	}
	for i, s := range t.From {
		at := fmt.Sprintf("tenants.from[%d]", i)
		switch {
		case s.TLSCommonName != nil:
			report(at+".tls_common_name", "", notYet+": no listener has TLS; have the proxy that ends it set a header")
		case !s.hasOneKey():
			report("tenants.from", "", fmt.Sprintf("entry %d must have one key: header, path or resource_attribute", i))
		case s.Header != "" && !isToken(s.Header):
			report(at+".header", s.Header, "is no name of a header")
		}
	}
	if t.Max <= 0 {
		report("tenants.max", fmt.Sprint(t.Max), "must be more than zero")
	} else if len(t.Allow) > t.Max {
		report("tenants.allow", "", fmt.Sprintf("lists %d tenants, which is more than tenants.max (%d)", len(t.Allow), t.Max))
	}
	c.validateForwardHeader(report)
}

func (c *Config) validateForwardHeader(report func(path, value, msg string)) {
	forward := http.CanonicalHeaderKey(c.Tenants.ForwardHeader)
	_, reserved := commonconfig.ReservedHeaders[forward]
	switch {
	case !isToken(forward):
		report("tenants.forward_header", c.Tenants.ForwardHeader, "is no name of a header")
	case reserved:
		report("tenants.forward_header", c.Tenants.ForwardHeader, "belongs to the protocol and cannot say the tenant")
	}
	for i := range c.RemoteWrite {
		p := &c.RemoteWrite[i].Prometheus
		at := fmt.Sprintf("remote_write[%d]", i)
		for block, names := range map[string][]string{
			"headers":      slices.Collect(maps.Keys(p.Headers)),
			"http_headers": headerNames(p.HTTPClientConfig.HTTPHeaders),
		} {
			for _, name := range names {
				if http.CanonicalHeaderKey(name) == forward {
					report(at+"."+block+"."+name, "", "would take the place of the tenant, which travels in this header; see tenants.forward_header")
				}
			}
		}
	}
}

func headerNames(h *commonconfig.Headers) []string {
	if h == nil {
		return nil
	}
	return slices.Collect(maps.Keys(h.Headers))
}

// isToken reports whether s may name a header (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
