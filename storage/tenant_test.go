package storage

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTenantTravelsWithTheContext(t *testing.T) {
	ctx := t.Context()
	require.Empty(t, TenantOf(ctx))
	a := WithTenant(ctx, "a")
	require.Equal(t, "a", TenantOf(a))
	within, cancel := context.WithCancel(a)
	defer cancel()
	require.Equal(t, "a", TenantOf(within))
	require.Equal(t, "b", TenantOf(WithTenant(within, "b")))
	require.Equal(t, ctx, WithTenant(ctx, ""), "no tenant costs nothing")
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = WithTenant(ctx, "") }))
}
