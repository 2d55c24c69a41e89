package direct

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// held holds the far end with a request for target, until free is called.
func held(t *testing.T, b *Backend, far *storagetest.FarEnd, target uint64) (free func()) {
	t.Helper()
	for len(far.Arrived) > 0 {
		<-far.Arrived
	}
	hold := make(chan struct{})
	far.Next(storagetest.Answer{Hold: hold})
	x := begin(t, b)
	x.add(target, 1)
	done := x.commit()
	<-far.Arrived
	return func() {
		close(hold)
		require.NoError(t, <-done)
	}
}

// sealed waits until so many parts wait to be sent.
func (b *Backend) sealed(n int) bool {
	d := b.desks[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	count := 0
	for i := range d.lines {
		for p := d.lines[i].head; p != nil; p = p.next {
			if p.sealed && !p.sending {
				count++
			}
		}
	}
	return count == n
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, 10*time.Second, time.Millisecond)
}

// patient makes batches wait for the far end rather than for a time.
func patient(o *Options) { o.Destinations[0].BatchMaxWait = time.Hour }

// What arrives while a request is in flight shares the next one: of different
// lines, and of one.
func TestCommitsShareARequest(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, patient)
	free := held(t, b, far, 0)
	var done []<-chan error
	for i := range 8 {
		x := begin(t, b)
		x.add(uint64(i), int64(10+i))
		x.add(uint64(i%2), int64(20+i))
		done = append(done, x.commit())
		waitFor(t, func() bool { return b.sealed(len(b.parts0())) })
	}
	free()
	for _, d := range done {
		require.NoError(t, <-d)
	}
	requests := far.Requests()
	require.Len(t, requests, 2)
	require.Len(t, requests[1].Samples, 16)
}

// parts0 returns what is in line for the first destination, but for what is
// being sent.
func (b *Backend) parts0() (out []*part) {
	d := b.desks[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.lines {
		for p := d.lines[i].head; p != nil; p = p.next {
			if !p.sending {
				out = append(out, p.part)
			}
		}
	}
	return out
}

// A batch that is full goes out beside the one in flight, and no batch is more
// than full.
func TestABatchEndsBySize(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, patient, func(o *Options) { o.Destinations[0].MaxSamplesPerSend = 3 })
	free := held(t, b, far, 0)
	var done []<-chan error
	for i := range 3 {
		x := begin(t, b)
		x.add(uint64(i+1), 1)
		done = append(done, x.commit())
	}
	for _, d := range done {
		require.NoError(t, <-d, "while the first is held")
	}
	free()
	for _, r := range far.Requests() {
		require.LessOrEqual(t, len(r.Samples), 3)
	}
	require.Len(t, far.Requests(), 2)
}

func TestABatchEndsByAge(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far)
	free := held(t, b, far, 0)
	x := begin(t, b)
	x.add(1, 1)
	require.NoError(t, <-x.commit(), "while the first is held")
	free()
}

// No more than Shards requests are in flight.
func TestShards(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, func(o *Options) { o.Destinations[0].Shards, o.Destinations[0].BatchMaxWait = 2, 0 })
	one, two := held(t, b, far, 0), held(t, b, far, 1)
	x := begin(t, b)
	x.add(2, 1)
	done := x.commit()
	waitFor(t, func() bool { return b.sealed(1) })
	require.Len(t, far.Requests(), 2)
	one()
	require.NoError(t, <-done)
	two()
}

// poison sends a transaction for each of 32 targets in one batch, of which one
// holds a sample that bad returns, and checks that nobody else is touched.
func poison(t *testing.T, b *Backend, free func(), now int64, reason string) {
	t.Helper()
	const senders, series = 32, 20
	commits := make([]chan error, senders)
	for i := range senders {
		app := b.AppenderV2(t.Context())
		app.(storage.TargetAppender).Target(uint64(i))
		for n := range series {
			ls := labels.FromStrings("__name__", "m", "n", fmt.Sprint(n), "sender", fmt.Sprint(i))
			at := now
			if i == 7 && n == 11 {
				at -= 60_000
			}
			_, err := app.Append(0, ls, 0, at, 1, nil, nil, promstorage.AppendV2Options{})
			require.NoError(t, err)
		}
		commits[i] = make(chan error, 1)
		go func() { commits[i] <- app.Commit() }()
	}
	waitFor(t, func() bool { return b.sealed(senders) })
	free()
	for i, c := range commits {
		err := <-c
		if i != 7 {
			require.NoError(t, err, "sender %d", i)
			continue
		}
		var e *storage.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, storage.KindRefused, e.Kind)
		require.Len(t, e.Refused, 1)
		require.Equal(t, 1, e.Refused[0].Count)
		require.Contains(t, e.Refused[0].Reason, reason)
	}
}

var messages = map[string]remotewrite.Message{"1.0": remotewrite.MessageV1, "2.0": remotewrite.MessageAuto}

// Prometheus's own receiver, without a window for late samples, refuses one
// sample of one sender among 32.
func TestOnePoisonedSampleAtPrometheus(t *testing.T) {
	for name, message := range messages {
		t.Run(name, func(t *testing.T) {
			prom := newReceiver(t, remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType)
			// What comes first is held, so that the rest shares a request.
			hold := make(chan struct{})
			var once sync.Once
			requests := 0
			var mu sync.Mutex
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				once.Do(func() { <-hold })
				mu.Lock()
				requests++
				mu.Unlock()
				prom.handler.ServeHTTP(w, r)
			}))
			t.Cleanup(proxy.Close)
			o := remotewrite.DefaultDestinationOptions(proxy.URL)
			o.ProtobufMessage, o.BatchMaxWait = message, time.Hour
			b := open(t, Options{Destinations: []remotewrite.DestinationOptions{o}})
			now := time.Now().UnixMilli()
			app := b.AppenderV2(t.Context())
			// The poisoned one is older than this.
			_, err := app.Append(0, labels.FromStrings("__name__", "m", "n", "11", "sender", "7"), 0, now-1000, 1, nil, nil, promstorage.AppendV2Options{})
			require.NoError(t, err)
			first := make(chan error, 1)
			go func() { first <- app.Commit() }()
			waitFor(t, func() bool { return b.sealed(0) && len(b.parts0()) == 0 && b.inLine.Load() == 1 })
			poison(t, b, func() { close(hold) }, now, "out of order")
			require.NoError(t, <-first)
			require.Len(t, prom.read(t, "m"), 32*20)
			require.LessOrEqual(t, requests, 2+32+2*5+1)
		})
	}
}

// The lines of who was refused have requests of their own for a while.
func TestWhoWasRefusedTravelsAlone(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	b := openTo(t, far, patient, func(o *Options) { o.Lines = 64 })
	free := held(t, b, far, 63)
	far.Script(func(req *storagetest.FarEndRequest) storagetest.Answer {
		for _, s := range req.Samples {
			if s.T < 1000 {
				return storagetest.Answer{Status: 400, Body: "too old", Refuse: func(s storagetest.Sample) bool { return s.T < 1000 }}
			}
		}
		return storagetest.Answer{}
	})
	poison(t, b, free, 60_500, "too old")
	before := len(far.Requests())

	free = held(t, b, far, 63)
	var done []<-chan error
	for i := range uint64(16) {
		x := begin(t, b)
		x.add(i, 100_000)
		done = append(done, x.commit())
	}
	waitFor(t, func() bool { return b.sealed(16) })
	free()
	for _, d := range done {
		require.NoError(t, <-d)
	}
	for _, r := range far.Requests()[before+1:] {
		for _, s := range r.Samples {
			if labels.Equal(s.Labels, seriesOf(7)) {
				require.Len(t, r.Samples, 1)
			}
		}
	}
	require.Less(t, len(far.Requests())-before-1, 6, "the others share")
}
