package direct

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// tx is a transaction of the tests: appends by target and time.
type tx struct {
	promstorage.AppenderV2
	t *testing.T
}

func begin(t *testing.T, b *Backend) tx { return tx{b.AppenderV2(context.Background()), t} }

func (x tx) add(target uint64, at int64) {
	x.AppenderV2.(storage.TargetAppender).Target(target)
	x.append(target, at)
}

// append appends a sample to the place that was chosen.
func (x tx) append(target uint64, at int64) {
	if _, err := x.Append(0, seriesOf(target), 0, at, float64(at), nil, nil, promstorage.AppendV2Options{}); err != nil {
		x.t.Error(err)
	}
}

func (x tx) commit() <-chan error {
	done := make(chan error, 1)
	go func() { done <- x.Commit() }()
	return done
}

func seriesOf(target uint64) labels.Labels {
	return labels.FromStrings("__name__", "m", "job", fmt.Sprint(target))
}

func times(far *storagetest.FarEnd, target uint64) (at []int64) {
	for _, s := range far.Stored() {
		if labels.Equal(s.Labels, seriesOf(target)) {
			at = append(at, s.T)
		}
	}
	return at
}

// Two transactions that meet in two shards in opposite order both finish.
func TestCrossedPlaces(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	one, two := begin(t, b), begin(t, b)
	one.add(0, 1)
	two.add(1, 1)
	one.add(1, 2)
	two.add(0, 2)
	first := one.commit()
	require.NoError(t, <-two.commit())
	require.NoError(t, <-first)
	require.Equal(t, []int64{1, 2}, times(far, 0))
	require.Equal(t, []int64{1, 2}, times(far, 1))
}

// A transaction that comes back to a shard does not use its old place when
// others, with older samples, came behind it.
func TestComingBackTakesANewPlace(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	one, two := begin(t, b), begin(t, b)
	one.add(0, 1)
	two.add(4, 2) // the same shard of 4
	two.add(0, 3)
	one.add(4, 4)
	one.add(0, 5)
	first := one.commit()
	require.NoError(t, <-two.commit())
	require.NoError(t, <-first)
	require.Equal(t, []int64{1, 3, 5}, times(far, 0))
	require.Equal(t, []int64{2, 4}, times(far, 4))
}

func TestARolledBackPlaceVanishes(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	one, two, three := begin(t, b), begin(t, b), begin(t, b)
	one.add(0, 1)
	two.add(0, 2)
	three.add(0, 3)
	second, third := two.commit(), three.commit()
	require.Empty(t, far.Requests(), "the first place is not settled")
	require.NoError(t, one.Rollback())
	require.NoError(t, <-second)
	require.NoError(t, <-third)
	require.Equal(t, []int64{2, 3}, times(far, 0))

	// A target without samples holds nobody up once its transaction is settled.
	one, two = begin(t, b), begin(t, b)
	one.AppenderV2.(storage.TargetAppender).Target(0)
	two.add(0, 4)
	second = two.commit()
	require.NoError(t, one.Commit())
	require.NoError(t, <-second)
}

// The converter takes its places under the targets' locks and appends later,
// when others have come behind it: the places hold all the same.
func TestPlacesAreTakenBeforeTheAppends(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	one, two := begin(t, b), begin(t, b)
	first := one.AppenderV2.(storage.TargetAppender)
	second := two.AppenderV2.(storage.TargetAppender)
	a := first.Target(0)
	behind := second.Target(0)
	again := first.Target(0) // Back at the target, behind the other one.

	first.At(again)
	one.append(0, 3)
	second.At(behind)
	two.append(0, 2)
	first.At(a)
	one.append(0, 1)
	done := [2]<-chan error{one.commit(), two.commit()}
	require.NoError(t, <-done[0])
	require.NoError(t, <-done[1])
	require.Equal(t, []int64{1, 2, 3}, times(far, 0))
}

// Two shards never send one series at a time, by the far end's own check, and
// each series is in order, when many transactions take places under a target's
// lock and commit in any order.
func TestOrderUnderLoad(t *testing.T) {
	const targets, writers, rounds = 10, 8, 40
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	var (
		locks [targets]sync.Mutex
		clock [targets]int64
		wg    sync.WaitGroup
	)
	for w := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for range rounds {
				x := begin(t, b)
				for range 1 + r.IntN(4) {
					n := r.IntN(targets)
					locks[n].Lock()
					clock[n]++
					x.add(uint64(n), clock[n])
					locks[n].Unlock()
				}
				if r.IntN(5) == 0 {
					if err := x.Rollback(); err != nil {
						t.Error(err)
					}
				} else if err := x.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sent := 0
	for n := range uint64(targets) {
		at := times(far, n)
		require.IsIncreasing(t, at)
		sent += len(at)
	}
	require.NotZero(t, sent)
	require.Zero(t, b.pending.Load())
	require.Zero(t, b.inLine.Load())
}

func TestAClientThatLeavesCancelsNothing(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	hold := make(chan struct{})
	far.Next(storagetest.Answer{Hold: hold})
	ctx, cancel := context.WithCancel(context.Background())
	x := tx{b.AppenderV2(ctx), t}
	x.add(0, 1)
	done := x.commit()
	<-far.Arrived
	cancel()
	close(hold)
	require.NoError(t, <-done)
	require.Equal(t, []int64{1}, times(far, 0))
}

func TestDeadlines(t *testing.T) {
	for name, change := range map[string]func(*Options) context.Context{
		"the gateway's": func(o *Options) context.Context {
			o.AckTimeout = 20 * time.Millisecond
			return t.Context()
		},
		"the client's": func(*Options) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		},
	} {
		t.Run(name, func(t *testing.T) {
			far := storagetest.NewFarEnd(t)
			far.Next(storagetest.Answer{Hold: make(chan struct{})})
			var ctx context.Context
			b := openTo(t, far, func(o *Options) { ctx = change(o) })
			x := tx{b.AppenderV2(ctx), t}
			x.add(0, 1)
			var e *storage.Error
			require.ErrorAs(t, x.Commit(), &e)
			require.Equal(t, storage.KindUnavailable, e.Kind)
			require.Empty(t, far.Stored())
		})
	}
}

func TestADeadlineBehindAnUnsettledTransaction(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, func(o *Options) { o.AckTimeout = 20 * time.Millisecond })
	one, two := begin(t, b), begin(t, b)
	one.add(0, 1)
	two.add(0, 2)
	var e *storage.Error
	require.ErrorAs(t, two.Commit(), &e)
	require.Equal(t, storage.KindUnavailable, e.Kind)
	require.NoError(t, one.Commit())
	require.Equal(t, []int64{1}, times(far, 0), "what was told to be retried is not sent")
}
