package storage

import "context"

type tenantKey struct{}

// WithTenant returns a context that says whose samples a transaction will hold:
// it is given to AppenderV2. Without a tenant it returns ctx itself. Tenant must
// not change afterwards; a backend may keep it for good.
func WithTenant(ctx context.Context, tenant string) context.Context {
	if tenant == "" {
		return ctx
	}
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// TenantOf returns the tenant that [WithTenant] put into ctx, or "". Backends
// that tell tenants apart never let samples of two into one request.
func TenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
