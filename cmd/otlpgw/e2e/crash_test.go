package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was answered with 200 survives kill -9.
func TestLocalSurvivesKill(t *testing.T) {
	data := t.TempDir()
	p := start(t, "--storage.path="+data)

	const senders, enough = 4, 200
	var mu sync.Mutex
	var acked []string
	killed := make(chan struct{})
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("kept_%d_%d", s, i)
				code, _, err := post("http://"+p.http+"/v1/metrics", gauge(name, "crash", float64(i)))
				if err != nil {
					return // killed
				}
				if code != http.StatusOK {
					continue
				}
				mu.Lock()
				acked = append(acked, fmt.Sprintf(`%s instance="crash" job="shop" %d`, name, i))
				if len(acked) == enough {
					close(killed)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-killed:
	case <-p.exited:
	}
	p.signal(t, syscall.SIGKILL)
	p.wait(t)
	wg.Wait()
	require.GreaterOrEqual(t, len(acked), enough, "%s", p.log)

	again := start(t, "--storage.path="+data)
	got := apiStore{again.admin}.query(t, `{__name__=~"kept_.*"}`)
	lost := slices.DeleteFunc(slices.Clone(acked), func(l string) bool { return slices.Contains(got, l) })
	require.Empty(t, lost, "acknowledged and lost; kept:\n%s", strings.Join(got, "\n"))
	again.stop(t)
}
