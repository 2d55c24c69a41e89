package remotewrite

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// A tenant is told to the destination, also where the settings name another.
func TestTenantHeader(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) { o.Headers = map[string]string{"X-Scope-OrgID": "configured"} })
	for _, tenant := range []string{"", "a"} {
		b.tenant = tenant
		require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	}
	requests := b.far.Requests()
	require.Equal(t, "configured", requests[0].Header.Get("X-Scope-OrgID"))
	require.Equal(t, []string{"a"}, requests[1].Header["X-Scope-Orgid"])

	b = newBench(t, func(o *DestinationOptions) { o.TenantHeader = "AccountID" })
	b.tenant = "7"
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	require.Equal(t, "7", b.far.Requests()[0].Header.Get("AccountID"))

	o := DefaultDestinationOptions("http://localhost/write")
	o.TenantHeader = "content-type"
	_, err := New(Options{Destinations: []DestinationOptions{o}})
	require.ErrorContains(t, err, "tenant header")
}

// What a far end says to one tenant, of its rate or of its right to write, does
// not stop another.
func TestTenantsDoNotStopEachOther(t *testing.T) {
	for name, answer := range map[string]storagetest.Answer{
		"rate":  {Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "50"}},
		"right": {Status: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.far.Next(answer)
			b.tenant = "a"
			require.NotNil(t, b.send(b.floats(1)...).Err)
			require.NotNil(t, b.send(b.floats(1)...).Err)
			require.Len(t, b.far.Requests(), 1, "it is left alone")
			b.tenant = "b"
			require.Equal(t, Outcome{}, b.send(b.floats(1)...))
			b.tenant = ""
			require.Equal(t, Outcome{}, b.send(b.floats(1)...))
			b.tenant = "a"
			b.clock.now = b.clock.now.Add(maxRetryAfter)
			require.Equal(t, Outcome{}, b.send(b.floats(1)...))
			b.metric(t, "circuit_open", "", "0")
		})
	}
	// A pause that the destination asks for because it is away is everybody's.
	b := newBench(t)
	b.far.Next(storagetest.Answer{Status: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After": "50"}})
	b.tenant = "a"
	require.NotNil(t, b.send(b.floats(1)...).Err)
	b.tenant = "b"
	require.Equal(t, storage.KindUnavailable, b.send(b.floats(1)...).Err.Kind)
	require.Len(t, b.far.Requests(), 1)
}

// What one tenant has delivered is not taken for another's.
func TestProgressIsTheTenantsOwn(t *testing.T) {
	b := newBench(t)
	samples := b.floats(3)
	b.group.Destinations()[0].Remember("a", samples)
	b.tenant = "b"
	require.Equal(t, Outcome{}, b.send(samples...))
	require.Len(t, b.far.Stored(), 3)
	b.tenant = "a"
	require.Equal(t, Outcome{}, b.send(samples...))
	require.Len(t, b.far.Stored(), 3)
}
