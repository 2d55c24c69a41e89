package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/otlpgw/otlpgw/converter"
)

// tenancy is [Tenants] as requests are judged by it.
type tenancy struct {
	from      []tenantSource
	resource  []string // the resource attributes among from, in their order
	byDefault string
	allow     map[string]string // to itself; nil allows all
	max       int
}

type tenantSource struct {
	header        string // as it is written
	name, key     string // the header as HTTP and as gRPC have it
	before, after string // of a path
	attribute     string
	// resource is how many resource attributes are asked before this.
	resource int
}

// newTenancy returns nil for nil. T was checked.
func newTenancy(t *Tenants) *tenancy {
	if t == nil {
		return nil
	}
	y := &tenancy{byDefault: t.Default, max: t.Max}
	if y.max == 0 {
		y.max = DefaultMaxTenants
	}
	for _, s := range t.From {
		c := tenantSource{resource: len(y.resource)}
		switch {
		case s.Header != "":
			c.header, c.name, c.key = s.Header, http.CanonicalHeaderKey(s.Header), strings.ToLower(s.Header)
		case s.Path != "":
			c.before, c.after, _ = cutPattern(s.Path)
		default:
			c.attribute = s.ResourceAttribute
			y.resource = append(y.resource, s.ResourceAttribute)
		}
		y.from = append(y.from, c)
	}
	if len(t.Allow) > 0 {
		y.allow = make(map[string]string, len(t.Allow))
		for _, name := range t.Allow {
			y.allow[name] = name
		}
	}
	return y
}

// cutPath takes the tenant out of a path: it returns the OTLP path behind it,
// and which source named the tenant. Without one, it returns the path.
func (y *tenancy) cutPath(path string) (rest, tenant string, source int) {
	if y == nil {
		return path, "", -1
	}
	for i := range y.from {
		s := &y.from[i]
		if s.before == "" {
			continue
		}
		behind, ok := strings.CutPrefix(path, s.before)
		slash := strings.IndexByte(behind, '/')
		if !ok || slash < 0 {
			continue
		}
		if otlp, ok := strings.CutPrefix(behind[slash:], s.after); ok {
			return otlp, behind[:slash], i
		}
	}
	return path, "", -1
}

// name returns what the request says it is whose, and which resource attributes
// say so before. Values returns those of a header; inPath is what the path says,
// by the source with that number.
func (y *tenancy) name(values func(*tenantSource) []string, inPath string, source int) (string, []string, error) {
	for i := range y.from {
		s := &y.from[i]
		if i == source && inPath != "" {
			return inPath, y.resource[:s.resource], nil
		}
		if s.header == "" {
			continue
		}
		v := values(s)
		for _, other := range v[min(1, len(v)):] {
			if other != v[0] {
				return "", nil, &failure{outcomeForbidden, fmt.Sprintf("the header %s names more than one tenant", s.header)}
			}
		}
		if len(v) > 0 && v[0] != "" {
			return v[0], y.resource[:s.resource], nil
		}
	}
	return y.byDefault, y.resource, nil
}

// tenants remembers who has sent, so that nobody can invent any number of them.
// It is safe for concurrent use.
type tenants struct {
	mu    sync.RWMutex
	known map[string]string // to itself
}

// admit returns the tenant behind a name, as a string that may be kept.
func (g *Gateway) admit(y *tenancy, name string) (string, error) {
	if name == "" {
		g.metrics.denied[deniedMissing].Inc()
		return "", &failure{outcomeNoCredentials, "the request names no tenant; " + y.where()}
	}
	if y.allow != nil {
		if known, ok := y.allow[name]; ok {
			return known, nil
		}
	}
	g.tenants.mu.RLock()
	known, ok := g.tenants.known[name]
	g.tenants.mu.RUnlock()
	if ok && y.allow == nil {
		return known, nil
	}
	if err := CheckTenant(name); err != nil {
		g.metrics.denied[deniedInvalid].Inc()
		return "", &failure{outcomeForbidden, fmt.Sprintf("the name of tenant %q %v", shortenTo(name, maxTenant), err)}
	}
	if y.allow != nil {
		g.metrics.denied[deniedUnlisted].Inc()
		return "", &failure{outcomeForbidden, fmt.Sprintf("tenant %q is not in tenants.allow", name)}
	}
	g.tenants.mu.Lock()
	defer g.tenants.mu.Unlock()
	if known, ok := g.tenants.known[name]; ok {
		return known, nil
	}
	if len(g.tenants.known) >= y.max {
		g.metrics.denied[deniedSurplus].Inc()
		return "", &failure{outcomeForbidden, fmt.Sprintf("tenant %q is one more than tenants.max (%d)", name, y.max)}
	}
	if g.tenants.known == nil {
		g.tenants.known = map[string]string{}
	}
	name = strings.Clone(name)
	g.tenants.known[name] = name
	return name, nil
}

// count returns how many tenants have sent that no list names.
func (t *tenants) count() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.known)
}

// where says where the tenant is looked for.
func (y *tenancy) where() string {
	var places []string
	for _, s := range y.from {
		switch {
		case s.header != "":
			places = append(places, "the header "+s.header)
		case s.before != "":
			places = append(places, "the path "+s.before+TenantPart+s.after+metricsPaths[0])
		default:
			places = append(places, "the resource attribute "+s.attribute)
		}
	}
	return "it is expected in " + strings.Join(places, " or ")
}

// owner is whose a request is: one tenant's, or its resources' that each say
// whose they are.
type owner struct {
	tenant    string
	resources *converter.ResourceTenants
}

// owner judges what [tenancy.name] has returned.
func (g *Gateway) owner(y *tenancy, name string, attributes []string, err error) (owner, error) {
	switch {
	case err != nil:
		g.metrics.denied[deniedInvalid].Inc()
		return owner{}, err
	case len(attributes) == 0:
		tenant, err := g.admit(y, name)
		return owner{tenant: tenant}, err
	}
	return owner{resources: &converter.ResourceTenants{
		Attributes: attributes,
		Fallback:   name,
		Admit:      func(name string) (string, error) { return g.admit(y, name) },
	}}, nil
}

// ownerOfHTTP returns whose r is; inPath and source are of cutPath.
func (g *Gateway) ownerOfHTTP(y *tenancy, r *http.Request, inPath string, source int) (owner, error) {
	if y == nil {
		return owner{}, nil
	}
	name, attributes, err := y.name(func(s *tenantSource) []string { return r.Header[s.name] }, inPath, source)
	return g.owner(y, name, attributes, err)
}

// ownerOfGRPC returns whose the call is.
func (g *Gateway) ownerOfGRPC(ctx context.Context, y *tenancy) (owner, error) {
	if y == nil {
		return owner{}, nil
	}
	name, attributes, err := y.name(func(s *tenantSource) []string { return metadata.ValueFromIncomingContext(ctx, s.key) }, "", -1)
	return g.owner(y, name, attributes, err)
}
