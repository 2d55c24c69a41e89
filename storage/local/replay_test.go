package local

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// Transactions that overlap are in the log in the order in which they are in
// memory: what a killed process leaves on disk holds every sample that was
// acknowledged.
func TestReplayOfOverlappingCommits(t *testing.T) {
	const writers, rounds, series = 12, 600, 200
	dir := t.TempDir()
	b := open(t, Options{Dir: dir})
	var sets [series]labels.Labels
	for i := range sets {
		sets[i] = labels.FromStrings("__name__", "overlap", "n", fmt.Sprint(i))
	}
	base := time.Now().UnixMilli()
	var clock atomic.Int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range rounds {
				at := base + clock.Add(1)
				app := b.AppenderV2(t.Context())
				for _, ls := range sets {
					if _, err := app.Append(0, ls, 0, at, float64(at), nil, nil, promstorage.AppendV2Options{}); err != nil {
						t.Error(err)
					}
				}
				if err := app.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()

	// The files as they are now are what a kill leaves.
	left := t.TempDir()
	require.NoError(t, os.CopyFS(left, os.DirFS(dir)))
	_ = os.Remove(left + "/lock")
	after := open(t, Options{Dir: left})
	for _, ls := range sets {
		have := make(map[int64]bool)
		for _, s := range read(t, after, ls) {
			have[s.T] = true
		}
		missing := 0
		for n := int64(1); n <= writers*rounds; n++ {
			if !have[base+n] {
				missing++
			}
		}
		require.Zero(t, missing, "of %d acknowledged samples of %s", writers*rounds, ls)
	}
}
