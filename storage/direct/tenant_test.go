package direct

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

type tenantKey struct{}

func byContext(o *Options) {
	o.TenantOf = func(ctx context.Context) string {
		name, _ := ctx.Value(tenantKey{}).(string)
		return name
	}
}

func as(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// Requests carry one tenant's samples, by content, whatever waits at a time:
// tenants here have the same targets, lines and series.
func TestTenantsDoNotMeet(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	// Series of two tenants with the same labels are not the same series.
	b := openTo(t, far, byContext, func(o *Options) { o.Destinations[0].MaxSamplesPerSend = 50 })
	names := []string{"", "a", "b", "c"}
	const rounds, targets, series = 30, 3, 5
	var wg sync.WaitGroup
	for _, tenant := range names {
		for worker := range 3 {
			wg.Go(func() {
				for round := range rounds {
					app := b.AppenderV2(as(t.Context(), tenant))
					for target := range targets {
						app.(storage.TargetAppender).Target(uint64(target))
						for n := range series {
							// The value says whose it is.
							ls := labels.FromStrings("__name__", "m", "n", fmt.Sprint(n), "of", tenant+"!", "target", fmt.Sprint(target), "worker", fmt.Sprint(worker))
							if _, err := app.Append(0, ls, 0, int64(round+1), 1, nil, nil, promstorage.AppendV2Options{}); err != nil {
								t.Error(err)
							}
						}
					}
					if err := app.Commit(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	count := map[string]int{}
	for _, r := range far.Requests() {
		tenant := r.Header.Get("X-Scope-OrgID")
		for _, s := range r.Samples {
			require.Equal(t, tenant+"!", s.Labels.Get("of"))
		}
		count[tenant] += len(r.Samples)
	}
	for _, tenant := range names {
		require.Equal(t, 3*rounds*targets*series, count[tenant])
	}
	require.Less(t, len(far.Requests()), len(names)*3*rounds*targets, "those of one tenant share")
}

// A tenant that fills its share of memory leaves the others theirs.
func TestTenantsHaveBudgets(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, byContext, func(o *Options) { o.MaxPendingBytes, o.MaxTenantBytes = 64*reserveStep, 4*reserveStep })
	one := tx{b.AppenderV2(as(t.Context(), "a")), t}
	one.AppenderV2.(storage.TargetAppender).Target(0)
	for b.pending.Load() < b.o.MaxTenantBytes {
		one.append(0, 1)
	}
	two := tx{b.AppenderV2(as(t.Context(), "a")), t}
	two.AppenderV2.(storage.TargetAppender).Target(1)
	_, err := two.Append(0, seriesOf(1), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, storage.KindUnavailable, e.Kind)
	require.ErrorContains(t, err, "direct.max_tenant_bytes")
	require.NoError(t, two.Rollback())

	three := tx{b.AppenderV2(as(t.Context(), "b")), t}
	three.add(1, time.Now().UnixMilli())
	require.NoError(t, three.Commit())
	require.NoError(t, one.Rollback())
	require.Zero(t, b.pending.Load())
}
