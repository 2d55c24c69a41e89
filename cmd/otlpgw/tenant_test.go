package main

import (
	"fmt"
	"net/http"
	"slices"
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

// pushTeams sends one request with a resource for each team, whose gauge is
// named after it.
func (r *running) pushTeams(instance string, ms int64, teams ...string) (int, string) {
	var resources []string
	for _, team := range teams {
		resources = append(resources, fmt.Sprintf(`{"resource":{"attributes":[
{"key":"service.instance.id","value":{"stringValue":%q}},{"key":"team","value":{"stringValue":%q}}]},
"scopeMetrics":[{"metrics":[{"name":"of_%s","gauge":{"dataPoints":[{"timeUnixNano":"%d","asInt":"1"}]}}]}]}`, instance, team, team, ms*1e6))
	}
	return r.post(`{"resourceMetrics":[` + strings.Join(resources, ",") + `]}`)
}

// crossings fails for every request to far that holds samples of another tenant
// than it says.
func crossings(t *testing.T, far *storagetest.FarEnd) {
	t.Helper()
	for _, req := range far.Requests() {
		for _, s := range req.Samples {
			name := s.Labels.Get("__name__")
			if name == "target_info" {
				name = "of_" + s.Labels.Get("team")
			}
			require.Equal(t, "of_"+req.Header.Get("X-Scope-OrgID"), name)
		}
	}
}

// Requests hold resources of several tenants, while the far end fails some.
func TestResourcesOfTenantsDoNotMeet(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	r := serving(t, to(far)+"tenants: {from: [{resource_attribute: team}]}\n")
	var n atomic.Int64
	far.Script(func(*storagetest.FarEndRequest) storagetest.Answer {
		if n.Add(1)%5 == 0 {
			return storagetest.Answer{Status: http.StatusServiceUnavailable}
		}
		return storagetest.Answer{}
	})
	begin := time.Now().Add(-time.Minute).UnixMilli()
	const senders, requests = 4, 30
	teams := []string{"red", "blue", "green"}
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for at := range int64(requests) {
				order := slices.Concat(teams[i%3:], teams[:i%3])
				if code, body := r.pushTeams(fmt.Sprint(i), begin+at, order...); code != http.StatusOK || body != "{}" {
					t.Errorf("%d %s", code, body)
				}
			}
		})
	}
	wg.Wait()
	crossings(t, far)
	stored := map[string]bool{}
	for _, s := range far.Stored() {
		if name := s.Labels.Get("__name__"); name != "target_info" {
			stored[name+s.Labels.Get("instance")+fmt.Sprint(s.T-begin)] = true
		}
	}
	require.Len(t, stored, len(teams)*senders*requests)
}

// While the far end is away for one tenant the client is told to come back.
// When it does, what it sent for the others is not sent to them again.
func TestResourcesOfATenantThatIsAway(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	r := serving(t, to(far)+"direct: {ack_timeout: 2s}\ntenants: {from: [{resource_attribute: team}], allow: [red, blue]}\n")
	var away atomic.Bool
	away.Store(true)
	far.Script(func(req *storagetest.FarEndRequest) storagetest.Answer {
		if away.Load() && req.Header.Get("X-Scope-OrgID") == "blue" {
			return storagetest.Answer{Status: http.StatusServiceUnavailable}
		}
		return storagetest.Answer{}
	})
	at := time.Now().Add(-time.Minute).UnixMilli()
	code, body := r.pushTeams("i", at, "red", "blue")
	require.Equal(t, http.StatusServiceUnavailable, code, body)
	away.Store(false)
	require.Eventually(t, func() bool {
		code, _ := r.pushTeams("i", at, "red", "blue")
		return code == http.StatusOK
	}, time.Minute, time.Millisecond)
	crossings(t, far)
	times := map[string]int{}
	for _, req := range far.Requests() {
		for _, s := range req.Samples {
			times[s.Labels.Get("__name__")]++
		}
	}
	require.Equal(t, 1, times["of_red"])
	blue := 0
	for _, s := range far.Stored() {
		if s.Labels.Get("__name__") == "of_blue" {
			blue++
		}
	}
	require.Equal(t, 1, blue)

	code, body = r.pushTeams("i", at+1, "red", "purple")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"rejectedDataPoints":"1"`)
	require.Contains(t, body, "purple")
	require.Contains(t, body, "tenants.allow")
	code, body = r.pushTeams("i", at+2, "purple")
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, body, "tenants.allow")
	crossings(t, far)
}
