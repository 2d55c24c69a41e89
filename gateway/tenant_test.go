package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otlpgw/otlpgw/converter"
)

// owners notes whose requests were.
type owners struct {
	mu  sync.Mutex
	all []string
}

func (o *owners) Push(_ context.Context, r converter.Request) (converter.Report, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, r.Tenant)
	return converter.Report{}, nil
}

// last returns whose the last request was, or "none" if there was none since.
func (o *owners) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		return "none"
	}
	tenant := o.all[len(o.all)-1]
	o.all = nil
	return tenant
}

func TestTenantOfARequest(t *testing.T) {
	seen := &owners{}
	g := start(t, Options{Pusher: seen, Settings: Settings{Tenants: &Tenants{
		From:    []TenantSource{{Path: "/tenants/{tenant}"}, {Header: "X-Scope-OrgID"}, {Header: "x-team"}, {Path: "/of/{tenant}/otlp/v1/metrics"}},
		Default: "nobody",
	}}})
	for _, c := range []struct {
		path   string
		header []string
		want   string
	}{
		{"/v1/metrics", nil, "nobody"},
		{"/v1/metrics", []string{"X-Scope-OrgID", "a"}, "a"},
		{"/v1/metrics", []string{"X-Scope-OrgID", "a", "X-Team", "b"}, "a"},
		{"/v1/metrics", []string{"X-Scope-OrgID", "", "X-Team", "b"}, "b"},
		{"/tenants/c/v1/metrics", []string{"X-Scope-OrgID", "a"}, "c"},
		{"/tenants/c/api/v1/otlp/v1/metrics", nil, "c"},
		{"/tenants//v1/metrics", []string{"X-Scope-OrgID", "a"}, "a"},
		{"/of/d/otlp/v1/metrics", nil, "d"},
		{"/of/d/otlp/v1/metrics", []string{"X-Team", "b"}, "b"},
	} {
		r := g.post(c.path, nil, append([]string{"Content-Type", protobufType}, c.header...)...)
		require.Equal(t, http.StatusOK, r.code, c)
		require.Equal(t, c.want, seen.last(), c)
	}
	for _, path := range []string{"/tenants/c", "/tenants/c/", "/tenants/v1/metrics", "/tenants/c/v1/traces", "/tenants/a/b/v1/metrics", "/x/tenants/c/v1/metrics", "/of/d/v1/metrics"} {
		require.Equal(t, http.StatusNotFound, g.post(path, nil, "Content-Type", protobufType).code, path)
	}
	require.Equal(t, "none", seen.last())

	export := func(pairs ...string) error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), pairs...)
		_, err := colpb.NewMetricsServiceClient(g.conn).Export(ctx, &colpb.ExportMetricsServiceRequest{})
		return err
	}
	require.NoError(t, export())
	require.Equal(t, "nobody", seen.last())
	require.NoError(t, export("X-Scope-OrgID", "a", "x-team", "b"))
	require.Equal(t, "a", seen.last())
	require.NoError(t, export("x-scope-orgid", "a", "x-scope-orgid", "a"))
	require.Equal(t, "a", seen.last())
	require.Equal(t, codes.PermissionDenied, status.Code(export("x-scope-orgid", "a", "x-scope-orgid", "b")))
	require.Equal(t, "none", seen.last())

	// Without tenancy nothing of a request says whose it is.
	require.NoError(t, g.Set(Settings{}))
	require.Equal(t, http.StatusOK, g.post("/v1/metrics", nil, "Content-Type", protobufType, "X-Scope-OrgID", "a").code)
	require.Empty(t, seen.last())
	require.Equal(t, http.StatusNotFound, g.post("/tenants/c/v1/metrics", nil, "Content-Type", protobufType).code)
}

// Who is not allowed, or one too many, or has no proper name, is refused for
// good on both transports, and nothing of the request is read.
// answers passes names to what a resource's tenant is admitted by.
type answers struct{ seen []*converter.ResourceTenants }

func (a *answers) Push(_ context.Context, r converter.Request) (converter.Report, error) {
	a.seen = append(a.seen, r.ResourceTenants)
	if t := r.ResourceTenants; t != nil {
		_, err := t.Admit(t.Fallback)
		return converter.Report{}, err
	}
	return converter.Report{Rejected: 1, Message: "of " + r.Tenant}, nil
}

// What stands before a resource attribute in the list counts for the whole
// request, and what stands behind it for resources without.
func TestTenantOfResources(t *testing.T) {
	pusher := &answers{}
	g := start(t, Options{Pusher: pusher, Settings: Settings{Tenants: &Tenants{
		From:  []TenantSource{{Header: "X-First"}, {ResourceAttribute: "team"}, {Header: "X-Second"}, {ResourceAttribute: "owner"}},
		Allow: []string{"a", "b"},
	}}})
	for _, c := range []struct {
		header     []string
		attributes []string
		fallback   string
		code       int
		says       string
	}{
		{[]string{"X-First", "a", "X-Second", "b"}, nil, "", http.StatusOK, "of a"},
		{[]string{"X-First", "c"}, nil, "", http.StatusForbidden, "tenants.allow"},
		{[]string{"X-Second", "b"}, []string{"team"}, "b", http.StatusOK, ""},
		{[]string{"X-Second", "c"}, []string{"team"}, "c", http.StatusForbidden, "tenants.allow"},
		{nil, []string{"team", "owner"}, "", http.StatusUnauthorized, "the header X-First or the resource attribute team or the header X-Second or the resource attribute owner"},
	} {
		pusher.seen = nil
		r := g.post("/v1/metrics", nil, append([]string{"Content-Type", protobufType}, c.header...)...)
		require.Equal(t, c.code, r.code, c)
		require.Contains(t, string(r.body), c.says, c)
		if c.attributes == nil {
			for _, seen := range pusher.seen {
				require.Nil(t, seen)
			}
			continue
		}
		require.Len(t, pusher.seen, 1)
		require.Equal(t, c.attributes, pusher.seen[0].Attributes)
		require.Equal(t, c.fallback, pusher.seen[0].Fallback)
	}
	names, err := pusher.seen[0].Admit("b")
	require.NoError(t, err)
	require.Equal(t, "b", names)
}

func TestTenantsAreRefused(t *testing.T) {
	seen := &owners{}
	g := start(t, Options{Pusher: seen})
	ask := func(tenant string) (int, codes.Code, string) {
		header := []string{"Content-Type", protobufType}
		ctx := t.Context()
		if tenant != "" {
			header = append(header, "X-Scope-OrgID", tenant)
			ctx = metadata.AppendToOutgoingContext(ctx, "x-scope-orgid", tenant)
		}
		r := g.post("/v1/metrics", []byte("no protobuf"), header...)
		_, err := colpb.NewMetricsServiceClient(g.conn).Export(ctx, &colpb.ExportMetricsServiceRequest{})
		return r.code, status.Code(err), status.Convert(err).Message()
	}
	from := []TenantSource{{Header: "X-Scope-OrgID"}}

	require.NoError(t, g.Set(Settings{Tenants: &Tenants{From: from, Allow: []string{"a", "b"}}}))
	for tenant, want := range map[string]string{
		"c":                      `tenant "c" is not in tenants.allow`,
		"":                       "names no tenant; it is expected in the header X-Scope-OrgID",
		"a|b":                    "has a character other than",
		"a/b":                    "has a character other than",
		"..":                     "is reserved",
		"__mimir_cluster":        "is reserved",
		strings.Repeat("x", 151): "has 151 bytes, and 150 are allowed",
	} {
		httpCode, grpcCode, msg := ask(tenant)
		require.Contains(t, msg, want, tenant)
		if tenant == "" {
			require.Equal(t, http.StatusUnauthorized, httpCode)
			require.Equal(t, codes.Unauthenticated, grpcCode)
			continue
		}
		require.Equal(t, http.StatusForbidden, httpCode, tenant)
		require.Equal(t, codes.PermissionDenied, grpcCode, tenant)
	}
	require.Equal(t, "none", seen.last())
	require.InDelta(t, 2, g.value("otlpgw_gateway_denied_requests_total", "reason", "unlisted"), 0)
	require.InDelta(t, 2, g.value("otlpgw_gateway_denied_requests_total", "reason", "missing"), 0)
	require.InDelta(t, 10, g.value("otlpgw_gateway_denied_requests_total", "reason", "invalid"), 0)

	require.NoError(t, g.Set(Settings{Tenants: &Tenants{From: from, Max: 2}}))
	for _, tenant := range []string{"one", strings.Repeat("x", 150), "one"} {
		code, _, _ := ask(tenant)
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, tenant, seen.last())
	}
	code, grpcCode, msg := ask("three")
	require.Equal(t, http.StatusForbidden, code)
	require.Equal(t, codes.PermissionDenied, grpcCode)
	require.Equal(t, `tenant "three" is one more than tenants.max (2)`, msg)
	require.Equal(t, "none", seen.last())
	require.InDelta(t, 2, g.value("otlpgw_gateway_tenants"), 0)
	require.InDelta(t, 2, g.value("otlpgw_gateway_denied_requests_total", "reason", "surplus"), 0)
}

func TestTenantsThatRaceStayWithinTheirNumber(t *testing.T) {
	g, err := New(Options{Pusher: &owners{}})
	require.NoError(t, err)
	y := newTenancy(&Tenants{Max: 10})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() { _, _ = g.admit(y, fmt.Sprint(i%20)) })
	}
	wg.Wait()
	require.Equal(t, 10, g.tenants.count())
}

func TestTenantFaults(t *testing.T) {
	for want, o := range map[string]Tenants{
		"neither a source nor a default":                          {},
		"must be either a header, a path or a resource attribute": {From: []TenantSource{{Header: "A", Path: "/{tenant}"}}},
		`path "/a{tenant}" must begin`:                            {From: []TenantSource{{Path: "/a{tenant}"}}},
		`path "{tenant}" must begin`:                              {From: []TenantSource{{Path: "{tenant}"}}},
		`path "/a" must begin`:                                    {From: []TenantSource{{Path: "/a"}}},
		`path "/{tenant}/{tenant}" must begin`:                    {From: []TenantSource{{Path: "/{tenant}/{tenant}"}}},
		`"a b" has a character`:                                   {Default: "a b"},
		`"x/y" has a character`:                                   {Default: "a", Allow: []string{"a", "x/y"}},
		`the default "a" is not allowed`:                          {Default: "a", Allow: []string{"b"}},
		"max is -1":                                               {Default: "a", Max: -1},
	} {
		_, err := New(Options{Pusher: &owners{}, Settings: Settings{Tenants: &o}})
		require.ErrorContains(t, err, want)
	}
}

func TestTenantOfAHeaderAllocatesNothing(t *testing.T) {
	g, err := New(Options{Pusher: &owners{}, Settings: Settings{Tenants: &Tenants{From: []TenantSource{{Path: "/t/{tenant}"}, {Header: "X-Scope-OrgID"}}}}})
	require.NoError(t, err)
	y := g.rules.Load().tenancy
	r, err := http.NewRequest(http.MethodPost, "/t/acme/v1/metrics", nil)
	require.NoError(t, err)
	r.Header.Set("X-Scope-OrgID", "a")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, inPath, source := y.cutPath(r.URL.Path)
		if of, err := g.ownerOfHTTP(y, r, inPath, source); of.tenant != "acme" || err != nil {
			t.Error(of, err)
		}
	}))
}
