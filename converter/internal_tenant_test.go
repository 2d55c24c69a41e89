package converter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// houses is a backend with a recorder for each tenant.
type houses struct {
	mu  sync.Mutex
	rec map[string]*storagetest.Recorder
}

func (h *houses) of(tenant string) *storagetest.Recorder {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rec[tenant] == nil {
		h.rec[tenant] = storagetest.NewRecorder()
	}
	return h.rec[tenant]
}

func (h *houses) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return h.of(storage.TenantOf(ctx)).AppenderV2(ctx)
}
func (h *houses) Ready() error                { return nil }
func (h *houses) Close(context.Context) error { return nil }

// stored returns what came for a tenant since the last call.
func (h *houses) stored(t testing.TB, tenant string) string {
	t.Helper()
	rec := h.of(tenant)
	rec.AssertClean(t)
	text := rec.Text()
	rec.Reset()
	return text
}

// estate is a pipeline in front of houses.
type estate struct {
	*Pipeline
	houses
}

func newEstate(t testing.TB) *estate {
	e := &estate{houses: houses{rec: map[string]*storagetest.Recorder{}}}
	p, err := New(Options{Backend: &e.houses, DisableTargetInfo: true, Now: func() time.Time { return time.UnixMilli(3600_000) }})
	require.NoError(t, err)
	e.Pipeline = p
	return e
}

var errUnlisted = errors.New("is not on the list")

// byTeam takes the tenant from the attribute team, and lets all but no-* in.
func byTeam(fallback string) *ResourceTenants {
	return &ResourceTenants{Attributes: []string{"team", "owner"}, Fallback: fallback, Admit: func(name string) (string, error) {
		if name == "" || strings.HasPrefix(name, "no-") || name == composite {
			return "", fmt.Errorf("%q %w", name, errUnlisted)
		}
		return name, nil
	}}
}

func (e *estate) push(t testing.TB, fallback, text string) (Report, error) {
	t.Helper()
	return e.Push(t.Context(), Request{Body: encode(t, text), ResourceTenants: byTeam(fallback)})
}

// of is a resource with a gauge m of one point, whose value is at, too.
func of(attributes, metric string, at int) string {
	return fmt.Sprintf(`resource_metrics { resource { attributes: "service.instance.id" = "i" %s } scope_metrics {
		metrics { name: %q gauge { data_points { time_unix_nano: @%d as_int: %d } } } } }`, attributes, metric, at, at)
}

func sample(metric string, at int) string {
	return fmt.Sprintf("%s{instance=\"i\"} %d @%d\n", metric, at, at)
}

// Each resource of a request goes to the tenant that it names, wherever it
// stands among the others.
func TestResourcesChooseTheirTenant(t *testing.T) {
	e := newEstate(t)
	report, err := e.push(t, "rest", of(`attributes: "team" = "red"`, "a", 1)+
		of(`attributes: "owner" = "blue"`, "b", 2)+
		of(``, "c", 3)+
		of(`attributes: "owner" = "blue" attributes: "team" = "red"`, "d", 4)+
		of(`attributes: "team" = "" attributes: "owner" = "blue"`, "e", 5)+
		of(`attributes: "team" = 7`, "f", 6)+
		of(`attributes: "team" = "green" attributes: "team" = "red"`, "g", 7)+
		of(`attributes: "team" = "blue"`, "a", 1))
	require.NoError(t, err)
	require.Equal(t, Report{Points: 8}, report)
	require.Equal(t, sample("a", 1)+sample("d", 4)+sample("g", 7), e.stored(t, "red"))
	require.Equal(t, sample("a", 1)+sample("b", 2)+sample("e", 5), e.stored(t, "blue"))
	require.Equal(t, sample("c", 3), e.stored(t, "rest"))
	require.Equal(t, sample("f", 6), e.stored(t, "7"))
	require.Len(t, e.rec, 4)

	report, err = e.push(t, "rest", "")
	require.NoError(t, err)
	require.Zero(t, report)
	require.Len(t, e.rec, 4)
}

// Resources of tenants that are not served cost their points, and the whole
// request only when there are no others.
func TestResourcesOfNobody(t *testing.T) {
	e := newEstate(t)
	denied := of(`attributes: "team" = "no-one"`, "bad", 1)
	two := of(`attributes { key: "team" value { array_value { values { string_value: "red" } } } }`, "worse", 2)
	_, err := e.push(t, "", two)
	require.ErrorIs(t, err, errUnlisted)
	report, err := e.push(t, "", denied+of(`attributes: "team" = "red"`, "good", 3)+of(``, "lost", 4))
	require.NoError(t, err)
	require.Equal(t, 3, report.Points)
	require.Equal(t, 2, report.Rejected)
	require.Contains(t, report.Message, `2 tenant (the tenant that the resource belongs to is not served) in "bad", "lost": "no-one" is not on the list`)
	require.Equal(t, sample("good", 3), e.stored(t, "red"))
	require.Len(t, e.rec, 1)

	for range 2 {
		_, err = e.push(t, "no-body", denied+of(``, "lost", 4))
		require.ErrorIs(t, err, errUnlisted)
		require.ErrorContains(t, err, `"no-one"`)
	}
	require.Len(t, e.rec, 1)

	// Nothing stays of them: the points are good once their tenant is.
	report, err = e.push(t, "red", of(``, "lost", 4))
	require.NoError(t, err)
	require.Zero(t, report.Rejected)
	require.Equal(t, sample("lost", 4), e.stored(t, "red"))
}

// A torn frame in one tenant's resource stores nothing of any.
func TestTornShareStoresNothing(t *testing.T) {
	e := newEstate(t)
	body := encode(t, of(`attributes: "team" = "red"`, "a", 1)+of(`attributes: "team" = "no-one"`, "b", 2))
	for cut := 1; cut < len(body); cut++ {
		torn := body[:cut:cut]
		if _, err := e.Push(t.Context(), Request{Body: torn, ResourceTenants: byTeam("")}); err != nil {
			var d *DecodeError
			require.ErrorAs(t, err, &d, "%d", cut)
			require.LessOrEqual(t, d.Offset, cut)
			require.Empty(t, e.stored(t, "red"), "%d", cut)
			continue
		}
		// Between two resources nothing is torn.
		require.Equal(t, sample("a", 1), e.stored(t, "red"))
	}
	// Frames of a resource that is not served are read, too.
	broken := append(encode(t, of(`attributes: "team" = "red"`, "z", 9)), 0x0a, 7, 0x0a, 0, 0x12, 3, 0x12, 1, 0x0a)
	_, err := e.Push(t.Context(), Request{Body: broken, ResourceTenants: byTeam("")})
	var d *DecodeError
	require.ErrorAs(t, err, &d)
	require.Empty(t, e.stored(t, "red"))
}

// When the store is away for one tenant the client sends everything again, and
// what was acknowledged for the others is not stored twice.
func TestSharesFailApart(t *testing.T) {
	text := of(`attributes: "team" = "red"`, "a", 1) + of(`attributes: "team" = "blue"`, "b", 2) + of(`attributes: "team" = "green"`, "c", 3)
	for name, fail := range map[string]func(*storagetest.Recorder){
		"commit": func(r *storagetest.Recorder) {
			r.FailCommit(storage.Unavailable(errors.New("blue is away"), time.Second))
		},
		"append": func(r *storagetest.Recorder) { r.FailAppend(1, errors.New("blue is away")) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			e.of("green").FailCommit(&storage.Error{Kind: storage.KindThrottled, Err: errors.New("green is busy")})
			fail(e.of("blue"))
			_, err := e.push(t, "", text)
			var failed *storage.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, storage.KindUnavailable, failed.Kind)
			require.ErrorContains(t, failed, "blue is away")
			require.Equal(t, sample("a", 1), e.stored(t, "red"))
			require.Empty(t, e.stored(t, "blue"))
			require.Empty(t, e.stored(t, "green"))

			report, err := e.push(t, "", text)
			require.NoError(t, err)
			require.Equal(t, Report{Points: 3}, report)
			require.Empty(t, e.stored(t, "red"))
			require.Equal(t, sample("b", 2), e.stored(t, "blue"))
			require.Equal(t, sample("c", 3), e.stored(t, "green"))
		})
	}
}

// What the far end refuses of one tenant is told with the tenant's name.
func TestSharesAreRefusedApart(t *testing.T) {
	e := newEstate(t)
	for _, tenant := range []string{"red", "blue"} {
		e.of(tenant).FailCommit(&storage.Error{Kind: storage.KindRefused, Refused: []storage.Refusal{{First: 0, Last: 0, Count: 1, Reason: "too many for " + tenant}}})
	}
	report, err := e.push(t, "", of(`attributes: "team" = "red"`, "a", 1)+of(`attributes: "team" = "blue"`, "b", 2)+of(`attributes: "team" = "green"`, "c", 3))
	require.NoError(t, err)
	require.Equal(t, [2]int{3, 2}, [2]int{report.Points, report.Rejected})
	require.Contains(t, report.Message, `2 far_end (refused by the remote end) in "a", "b": of tenant "red": too many for red`)
	require.Equal(t, sample("c", 3), e.stored(t, "green"))
}

// A panic in the transaction of one tenant reaches the caller, and nothing
// stays locked.
func TestShareThatPanics(t *testing.T) {
	e := newEstate(t)
	text := of(`attributes: "team" = "red"`, "a", 1) + of(`attributes: "team" = "blue"`, "b", 2)
	line, err := New(Options{Backend: panicking{&e.houses}, DisableTargetInfo: true, Now: func() time.Time { return time.UnixMilli(3600_000) }})
	require.NoError(t, err)
	for range 2 {
		require.PanicsWithValue(t, "commit of blue", func() {
			_, _ = line.Push(t.Context(), Request{Body: encode(t, text), ResourceTenants: byTeam("")})
		})
	}
}

// panicking is houses in which blue's commits panic.
type panicking struct{ *houses }

func (p panicking) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	app := p.houses.AppenderV2(ctx)
	if storage.TenantOf(ctx) == "blue" {
		return panickingCommit{app}
	}
	return app
}

type panickingCommit struct{ promstorage.AppenderV2 }

func (panickingCommit) Commit() error { panic("commit of blue") }
