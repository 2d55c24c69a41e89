package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// Tenants send the same series at the same times, some while the far end fails.
// No request to it has samples of two, and everything that was acknowledged is
// there, under the right name.
func TestTenantsDoNotMeet(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	r := serving(t, to(far)+"tenants: {from: [{header: X-Team}], allow: [red, blue]}\n")
	var n atomic.Int64
	far.Script(func(*storagetest.FarEndRequest) storagetest.Answer {
		if n.Add(1)%5 == 0 {
			return storagetest.Answer{Status: http.StatusServiceUnavailable}
		}
		return storagetest.Answer{}
	})
	begin := time.Now().Add(-time.Minute).UnixMilli()
	const senders, requests = 4, 40
	var wg sync.WaitGroup
	for _, team := range []string{"red", "blue"} {
		for i := range senders {
			wg.Go(func() {
				for at := range int64(requests) {
					// The metric's name is of the tenant, target and time are not.
					code, body := r.push("of_"+team, fmt.Sprint(i), begin+at, "X-Team", team)
					if code != http.StatusOK || body != "{}" {
						t.Errorf("%s: %d %s", team, code, body)
					}
				}
			})
		}
	}
	wg.Wait()
	stored := map[string]bool{}
	for _, req := range far.Requests() {
		team := req.Header.Get("X-Scope-OrgID")
		require.Contains(t, []string{"red", "blue"}, team)
		for _, s := range req.Samples {
			require.Equal(t, "of_"+team, s.Labels.Get("__name__"))
		}
	}
	for _, s := range far.Stored() {
		stored[s.Labels.Get("__name__")+s.Labels.Get("instance")+fmt.Sprint(s.T-begin)] = true
	}
	require.Len(t, stored, 2*senders*requests)

	code, body := r.push("of_green", "a", begin, "X-Team", "green")
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, body, "tenants.allow")
	code, _ = r.push("of_none", "a", begin)
	require.Equal(t, http.StatusUnauthorized, code)

	// By a reload green comes in and blue goes, under another header.
	r.reloaded(to(far) + "tenants: {from: [{header: X-Team}], allow: [red, green], forward_header: THANOS-TENANT}\n")
	code, body = r.push("of_green", "a", begin, "X-Team", "green")
	require.Equal(t, http.StatusOK, code, body)
	code, _ = r.push("of_blue", "a", begin, "X-Team", "blue")
	require.Equal(t, http.StatusForbidden, code)
	requestsSeen := far.Requests()
	last := requestsSeen[len(requestsSeen)-1]
	require.Equal(t, "green", last.Header.Get("Thanos-Tenant"))
	require.Empty(t, last.Header.Get("X-Scope-OrgID"))
	require.True(t, strings.HasPrefix(last.Samples[0].Labels.Get("__name__"), "of_green"))
}
