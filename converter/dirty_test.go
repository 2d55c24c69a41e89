package converter_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// What one sender left behind in a pooled converter must not show in what the
// next one gets. A request of strangers, whole, torn or with a commit that
// fails, goes first; then another sender's requests give the same as through a
// pipeline that has seen nothing. Under the race detector returned memory is
// poisoned, so that a view that survived shows too.
func TestDirtyConverter(t *testing.T) {
	const start = 1_700_000_000_000
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := readSettings(t, []byte(oracleSettings[seed%uint64(len(oracleSettings))]))
			rnd := rand.New(rand.NewPCG(seed, 9))
			clean, dirty := newBench(t, s), newBench(t, s)
			strangers := convertertest.NewWorld(1000+seed, start)
			sender := convertertest.NewWorld(2000+seed, start)
			for range 4 {
				e := convertertest.Encodings(seed)[rnd.IntN(6)]
				soil(t, dirty, strangers, e, rnd)

				body, err := e.Encode(sender.Request())
				require.NoError(t, err)
				clean.nowMs.Store(int64(sender.NowMs()))
				dirty.nowMs.Store(int64(sender.NowMs()))
				want, err := clean.push(body, e.JSON)
				require.NoError(t, err)
				got, err := dirty.push(body, e.JSON)
				require.NoError(t, err)
				require.Equal(t, want, got, e.Name)
				require.Equal(t, clean.take(t, 0), dirty.take(t, 0), e.Name)
			}
		})
	}
}

// soil pushes a stranger's request that ends in one of several ways.
func soil(t *testing.T, b *bench, strangers *convertertest.World, e convertertest.Encoding, rnd *rand.Rand) {
	t.Helper()
	// Of another tenant: the same converter, but no series in common.
	b.tenant = "strangers"
	defer func() { b.tenant = "" }()
	req := strangers.Request()
	// One point that is certain to be committed.
	more, err := convertertest.Metrics(fmt.Sprintf(
		`metrics { name: "certain" gauge { data_points { time_unix_nano: @%d as_int: 1 } } }`, strangers.NowMs()))
	require.NoError(t, err)
	req.ResourceMetrics = append(req.ResourceMetrics, more.ResourceMetrics...)
	body, err := e.Encode(req)
	require.NoError(t, err)
	b.nowMs.Store(int64(strangers.NowMs()))
	switch rnd.IntN(3) {
	case 0:
		_, err = b.push(body, e.JSON)
		require.NoError(t, err)
	case 1:
		// Torn: it may still decode, when the cut is between two fields.
		_, _ = b.push(body[:rnd.IntN(len(body))], e.JSON)
	case 2:
		b.rec.FailCommit(commitError(t, "unavailable"))
		_, err = b.push(body, e.JSON)
		require.ErrorContains(t, err, "unavailable")
	}
	b.rec.AssertClean(t)
	b.rec.Reset()
}

// A pipeline's senders do not wait for each other's answers, so requests for
// the same targets overlap and some commits fail. Every request that was
// answered with nil is stored, whatever the order, and points add up.
func TestConcurrentPushes(t *testing.T) {
	const (
		workers  = 8
		requests = 60
	)
	b := newBench(t, readSettings(t, nil))
	rnd := rand.New(rand.NewPCG(1, 1))
	for range requests {
		if rnd.IntN(4) == 0 {
			b.rec.FailCommit(commitError(t, "unavailable"))
		} else {
			b.rec.FailCommit(nil)
		}
	}
	type outcome struct {
		points int
		err    error
	}
	outcomes := make(chan outcome)
	for worker := range workers {
		go func() {
			var sum outcome
			for n := range requests {
				req, err := convertertest.Request(overlapping(worker, n))
				if err != nil {
					sum.err = err
					break
				}
				body := convertertest.Split(req, uint64(worker))
				for {
					report, err := b.push(body, false)
					if err != nil {
						continue // The client retries.
					}
					sum.points += report.Points
					if report.Rejected > 0 {
						sum.err = fmt.Errorf("rejected %d: %s", report.Rejected, report.Message)
					}
					break
				}
			}
			outcomes <- sum
		}()
	}
	total := 0
	for range workers {
		o := <-outcomes
		require.NoError(t, o.err)
		total += o.points
	}
	require.Equal(t, workers*requests*4, total)

	b.rec.AssertClean(t)
	stored := make(map[string]int)
	for _, s := range b.rec.Samples() {
		stored[s.String()]++
	}
	for worker := range workers {
		for n := range requests {
			for _, target := range []string{"a", "b"} {
				ms := 1000 * (n + 1)
				own := fmt.Sprintf("own{job=%q, worker=\"%d\"} %d @%d\n", target, worker, n, ms)
				require.Equal(t, 1, stored[own], "%s", own)
				shared := fmt.Sprintf("shared{job=%q} %d @%d\n", target, n, ms)
				require.GreaterOrEqual(t, stored[shared], 1, "%s", shared)
				delete(stored, own)
			}
		}
	}
	for n := range requests {
		for _, target := range []string{"a", "b"} {
			delete(stored, fmt.Sprintf("shared{job=%q} %d @%d\n", target, n, 1000*(n+1)))
		}
	}
	require.Empty(t, stored, "samples that nobody sent")
}

// overlapping is the nth request of a worker: for each of two targets a point of
// a series of its own and one of a series that all workers send.
func overlapping(worker, n int) string {
	text := ""
	for _, target := range []string{"a", "b"} {
		text += fmt.Sprintf(`resource_metrics {
			resource { attributes: "service.name" = %q }
			scope_metrics {
				metrics { name: "own" gauge { data_points { time_unix_nano: @%d as_int: %d attributes: "worker" = "%d" } } }
				metrics { name: "shared" gauge { data_points { time_unix_nano: @%d as_int: %d } } }
			}
		}
		`, target, 1000*(n+1), n, worker, 1000*(n+1), n)
	}
	return text
}
