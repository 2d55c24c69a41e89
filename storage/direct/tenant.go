package direct

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// tenant is who a transaction belongs to. Tenants are compared by pointer.
type tenant struct {
	name    string
	hash    uint64
	pending atomic.Int64 // bytes that its parts hold
}

// tenants are those that have been seen: as many as the gateway admits. It is
// safe for concurrent use.
type tenants struct {
	name   func(context.Context) string // may be nil
	nobody tenant
	known  sync.Map
}

var tenantSeed = maphash.MakeSeed()

// of returns the tenant of a transaction.
func (t *tenants) of(ctx context.Context) *tenant {
	if t.name == nil {
		return &t.nobody
	}
	name := t.name(ctx)
	if name == "" {
		return &t.nobody
	}
	if known, ok := t.known.Load(name); ok {
		return known.(*tenant)
	}
	name = strings.Clone(name)
	known, _ := t.known.LoadOrStore(name, &tenant{name: name, hash: maphash.String(tenantSeed, name)})
	return known.(*tenant)
}
