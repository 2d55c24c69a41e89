package direct

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

var (
	faultRequests = flag.Int("faults", 1000, "requests of TestFaults; the full run is 10000")
	faultOutage   = flag.Duration("outage", time.Second, "outage of TestFaults; the full run is 20s")
)

// unreliable is a far end that fails one request in five, in every way that
// says nothing about the data, and is away for a while in the middle.
type unreliable struct {
	mu     sync.Mutex
	random *rand.Rand
	lost   map[string]int // samples by how often they were stored without an answer
	faults map[string]int

	away atomic.Bool
	hang chan struct{}
}

func (u *unreliable) answer(req *storagetest.FarEndRequest) storagetest.Answer {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.away.Load() {
		u.faults["outage"]++
		return storagetest.Answer{Status: http.StatusServiceUnavailable, NoWritten: true}
	}
	if u.random.IntN(5) > 0 {
		return storagetest.Answer{}
	}
	kind := []string{"503", "429", "reset", "timeout", "lost"}[u.random.IntN(5)]
	u.faults[kind]++
	switch kind {
	case "503":
		return storagetest.Answer{Status: http.StatusServiceUnavailable, Body: "no leader", NoWritten: true}
	case "429":
		return storagetest.Answer{Status: http.StatusTooManyRequests, NoWritten: true}
	case "reset":
		return storagetest.Answer{HangUp: true}
	case "timeout":
		// Until the sender gives up: then nothing is stored.
		return storagetest.Answer{Hold: u.hang}
	}
	for _, s := range req.Samples {
		u.lost[seriesAt(s)]++
	}
	return storagetest.Answer{Lose: true}
}

func seriesAt(s storagetest.Sample) string { return fmt.Sprint(s.Labels, s.T) }

// Every sample of every request that was accepted arrives, per series in order,
// and twice only where an answer was lost on the way back. Senders retry what
// they are told to retry. `go test ./storage/direct -run TestFaults -args
// -faults=10000 -outage=20s` is the full run.
func TestFaults(t *testing.T) {
	for name, message := range messages {
		t.Run(name, func(t *testing.T) {
			const senders, targets, series = 8, 3, 4
			far := storagetest.NewFarEnd(t)
			u := &unreliable{random: rand.New(rand.NewPCG(1, 2)), lost: map[string]int{}, faults: map[string]int{}, hang: make(chan struct{})}
			far.Script(u.answer)
			b := openTo(t, far, func(o *Options) {
				d := &o.Destinations[0]
				d.ProtobufMessage, d.RemoteTimeout, d.MinBackoff, d.MaxBackoff = message, 250*time.Millisecond, time.Millisecond, 20*time.Millisecond
				o.AckTimeout, o.Lines = time.Second, 16
			})
			per := *faultRequests / senders
			var began, ended sync.Once
			var accepted atomic.Int64
			var wg sync.WaitGroup
			for sender := range senders {
				wg.Go(func() {
					for n := range per {
						if n == per/2 {
							began.Do(func() {
								u.away.Store(true)
								time.AfterFunc(*faultOutage, func() { ended.Do(func() { u.away.Store(false) }) })
							})
						}
						for !push(t, b, sender, targets, series, int64(n+1)) {
						}
						accepted.Add(1)
					}
				})
			}
			wg.Wait()
			require.EqualValues(t, senders*per, accepted.Load())

			for _, r := range far.Requests() {
				if r.Left { // It was too slow, so its answer was lost as well.
					for _, s := range r.Samples {
						u.lost[seriesAt(s)]++
					}
				}
			}
			stored, last := map[string]int{}, map[string]int64{}
			for _, s := range far.Stored() {
				stored[seriesAt(s)]++
				if key := s.Labels.String(); stored[seriesAt(s)] == 1 {
					require.Equal(t, last[key]+1, s.T, "%s in order, and nothing left out", key)
					last[key] = s.T
				}
			}
			require.Len(t, last, senders*targets*series)
			duplicates := 0
			for key, n := range stored {
				require.LessOrEqual(t, n, 1+u.lost[key], "%s came twice without a lost answer", key)
				duplicates += n - 1
			}
			for key, at := range last {
				require.EqualValues(t, per, at, key)
			}
			t.Logf("%d requests, faults %v, %d duplicates, %d remote writes", senders*per, u.faults, duplicates, len(far.Requests()))
			require.NotEmpty(t, u.faults["lost"])
			require.Zero(t, b.pending.Load())
		})
	}
}

// push sends one request of a sender, with several targets, and reports whether
// it was accepted.
func push(t *testing.T, b *Backend, sender, targets, series int, at int64) bool {
	app := b.AppenderV2(context.Background())
	for target := range targets {
		app.(storage.TargetAppender).Target(uint64(sender*targets + target))
		for n := range series {
			ls := labels.FromStrings("__name__", "m", "n", fmt.Sprint(n), "sender", fmt.Sprint(sender), "target", fmt.Sprint(target))
			if _, err := app.Append(0, ls, 0, at, float64(at), nil, nil, promstorage.AppendV2Options{}); err != nil {
				t.Error(err)
			}
		}
	}
	err := app.Commit()
	if err == nil {
		return true
	}
	var e *storage.Error
	if !errors.As(err, &e) || e.Kind == storage.KindRefused {
		t.Errorf("a fault of the far end's became %v", err)
		return true
	}
	return false
}

// A far end that hangs costs no more memory than was allowed, its senders are
// told to come back, and all goes on when it does.
func TestAHangingFarEndIsBounded(t *testing.T) {
	const senders, budget = 64, 1 << 20
	far := storagetest.NewFarEnd(t)
	var hanging atomic.Bool
	hanging.Store(true)
	hang := make(chan struct{})
	far.Script(func(*storagetest.FarEndRequest) storagetest.Answer {
		if hanging.Load() {
			return storagetest.Answer{Hold: hang, HangUp: true}
		}
		return storagetest.Answer{}
	})
	b := openTo(t, far, func(o *Options) {
		o.MaxPendingBytes, o.AckTimeout, o.Lines = budget, 200*time.Millisecond, 64
	})
	var wg sync.WaitGroup
	var most, noRoom, noAnswer, done atomic.Int64
	for sender := range senders {
		wg.Go(func() {
			for round := 0; ; round++ {
				err := fill(b, sender, 500)
				held := b.pending.Load()
				for old := most.Load(); held > old && !most.CompareAndSwap(old, held); old = most.Load() {
				}
				var e *storage.Error
				switch {
				case err == nil:
					done.Add(1)
					return
				case !errors.As(err, &e) || e.Kind != storage.KindUnavailable:
					t.Errorf("unexpected %v", err)
					return
				case e.RetryAfter > 0:
					noRoom.Add(1)
				default:
					noAnswer.Add(1)
				}
			}
		})
	}
	waitFor(t, func() bool { return noRoom.Load() > 100 && noAnswer.Load() > 10 })
	hanging.Store(false)
	close(hang)
	wg.Wait()
	require.EqualValues(t, senders, done.Load(), "all of them, once it is back")
	require.LessOrEqual(t, most.Load(), int64(budget))
	require.Greater(t, most.Load(), int64(budget/2), "the budget was used")
	require.NoError(t, b.Close(t.Context()))
	require.Zero(t, b.pending.Load())
}

// fill sends a request of one target with n samples.
func fill(b *Backend, target, n int) error {
	app := b.AppenderV2(context.Background())
	app.(storage.TargetAppender).Target(uint64(target))
	for i := range n {
		ls := labels.FromStrings("__name__", "m", "n", fmt.Sprint(i), "target", fmt.Sprint(target))
		if _, err := app.Append(0, ls, 0, 1, 1, nil, nil, promstorage.AppendV2Options{}); err != nil {
			return errors.Join(err, app.Rollback())
		}
	}
	return app.Commit()
}

// Of two destinations the one that has accepted a request is not sent it again
// when the client is told to because of the other.
func TestARetryGoesToWhoeverFailed(t *testing.T) {
	one, two, b := both(t, func(o *Options) { o.AckTimeout = 200 * time.Millisecond })
	two.Next(storagetest.Answer{Hold: make(chan struct{})})
	now := time.Now().UnixMilli()
	send := func() error {
		x := begin(t, b)
		x.add(0, now)
		x.add(1, now)
		return x.Commit()
	}
	require.Error(t, send())
	waitFor(t, func() bool { return b.inLine.Load() == 0 })
	require.Len(t, one.Stored(), 2)
	require.NoError(t, send())
	require.Len(t, two.Stored(), 2)
	require.Len(t, one.Requests(), 1)

	// Both get what comes next.
	now++
	require.NoError(t, send())
	require.Len(t, one.Stored(), 4)
	require.Len(t, two.Stored(), 4)
}

// The same when it accepts after the client was told: the request was kept in
// flight for another transaction's sake.
func TestARetryAfterALateAcceptance(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, patient)
	free := held(t, b, far, 0)
	hold := make(chan struct{})
	far.Next(storagetest.Answer{Hold: hold})
	patientOne := begin(t, b)
	patientOne.add(1, 1)
	hasty := begin(t, b)
	hasty.add(2, 1)
	first := patientOne.commit()
	second := hasty.commit()
	waitFor(t, func() bool { return b.sealed(2) })
	free()
	<-far.Arrived // both are in one request
	for _, s := range b.settlements() {
		s.end() // as when their deadlines had come
	}
	close(hold)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	require.Len(t, far.Stored(), 3)
	again := begin(t, b)
	again.add(2, 1)
	require.NoError(t, again.Commit())
	require.Len(t, far.Requests(), 2, "it has that")
}

// settlements returns those of what is in line for the first destination.
func (b *Backend) settlements() (out []*settlement) {
	d := b.desks[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.lines {
		for p := d.lines[i].head; p != nil; p = p.next {
			out = append(out, p.part.settlement)
		}
	}
	return out
}
