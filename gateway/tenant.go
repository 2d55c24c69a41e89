package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Tenants says whose a request is, and who may send.
type Tenants struct {
	// From lists where to look; the first place that says something counts.
	From []TenantSource
	// Default is the tenant of requests that say nothing; empty refuses those.
	Default string
	// Allow lists the tenants that may send; empty allows all.
	Allow []string
	// Max bounds how many tenants there may be in all, by default 1000. Each
	// takes memory for as long as the process lives.
	Max int
}

// TenantSource is one place where the tenant may be said: exactly one field
// is set.
type TenantSource struct {
	// Header is a header over HTTP and a metadata key over gRPC.
	Header string
	// Path is what stands before an OTLP path over HTTP, with {tenant} as one
	// of its parts: /tenants/{tenant} makes /tenants/acme/v1/metrics acme's. It
	// may go on to /v1/metrics.
	Path string
	// ResourceAttribute is an attribute of resources: each chooses the tenant
	// of its own points.
	ResourceAttribute string
}

// fields returns how many fields are set.
func (s *TenantSource) fields() (n int) {
	for _, v := range []string{s.Header, s.Path, s.ResourceAttribute} {
		if v != "" {
			n++
		}
	}
	return n
}

// TenantPart stands for the tenant in [TenantSource].Path.
const TenantPart = "{tenant}"

// DefaultMaxTenants is the default of [Tenants].Max.
const DefaultMaxTenants = 1000

// maxTenant bounds a tenant's name in bytes, as Mimir does.
const maxTenant = 150

// CheckTenant says what is wrong with a name. The rules are those of Mimir,
// Loki and Tempo, which a name ends up at: at most 150 of the characters
// A-Z a-z 0-9 ! - _ . * ' ( ), but neither "." nor ".." nor "__mimir_cluster".
func CheckTenant(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxTenant:
		return fmt.Errorf("has %d bytes, and %d are allowed", len(name), maxTenant)
	case name == "." || name == ".." || name == "__mimir_cluster":
		return errors.New("is reserved")
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!-_.*'()", c) >= 0:
		default:
			return errors.New("has a character other than A-Z a-z 0-9 ! - _ . * ' ( )")
		}
	}
	return nil
}

// check returns all that is wrong with t.
func (t *Tenants) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("tenants: "+format, args...)) }
	if len(t.From) == 0 && t.Default == "" {
		bad("neither a source nor a default")
	}
	for _, s := range t.From {
		if s.fields() != 1 {
			bad("a source must be either a header, a path or a resource attribute")
		}
		if _, _, ok := cutPattern(s.Path); s.Path != "" && !ok {
			bad("path %q must begin with / and have %s as one of its parts, once", s.Path, TenantPart)
		}
	}
	for _, name := range append(slices.Clone(t.Allow), t.Default) {
		if err := CheckTenant(name); name != "" && err != nil {
			bad("%q %w", shortenTo(name, maxTenant), err)
		}
	}
	if t.Default != "" && len(t.Allow) > 0 && !slices.Contains(t.Allow, t.Default) {
		bad("the default %q is not allowed", t.Default)
	}
	if t.Max < 0 {
		bad("max is %d", t.Max)
	}
	return errors.Join(errs...)
}

// cutPattern returns what is before and after the tenant. A pattern may name
// the whole path.
func cutPattern(pattern string) (before, after string, ok bool) {
	pattern = strings.TrimSuffix(strings.TrimSuffix(pattern, "/"), metricsPaths[0])
	before, after, ok = strings.Cut(pattern, TenantPart)
	ok = ok && strings.HasPrefix(before, "/") && strings.HasSuffix(before, "/") &&
		(after == "" || strings.HasPrefix(after, "/")) && !strings.Contains(after, TenantPart)
	return before, after, ok
}
