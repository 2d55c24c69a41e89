package remotewrite

import (
	"context"
	"sync"
	"time"
)

// outage keeps the senders of a destination that is away from asking all at
// once: after some failures in a row one attempt at a time goes out, and when
// one gets an answer all the others go on at once. They wait meanwhile, each to
// its own deadline. It is safe for concurrent use.
type outage struct {
	mu       sync.Mutex
	failures int       // in a row, of all senders
	next     time.Time // when the next probe may go out
	over     chan struct{}
}

const (
	// outageAfter is how many failures in a row make an outage: a far end that
	// fails now and then has none.
	outageAfter = 5
	// probeEvery is how long a probe may go without an answer before the next.
	probeEvery = time.Second
)

// admit returns zero if an attempt may go out, and otherwise when to ask again;
// over is closed when the outage ends before.
func (o *outage) admit(now time.Time) (wait time.Duration, over <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures < outageAfter {
		return 0, nil
	}
	if wait := o.next.Sub(now); wait > 0 {
		return wait, o.over
	}
	o.next = now.Add(probeEvery)
	return 0, nil
}

// lasting returns the channel that is closed when the outage ends, or nil if
// there is none.
func (o *outage) lasting() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

// answered notes an attempt's end and reports whether an outage began or ended.
// Lowest is the shortest pause before the next probe.
func (o *outage) answered(now time.Time, away bool, lowest time.Duration) (began, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !away {
		ended = o.failures >= outageAfter
		o.failures = 0
		if o.over != nil {
			close(o.over)
			o.over = nil
		}
		return false, ended
	}
	o.failures++
	if o.failures == outageAfter {
		o.over = make(chan struct{})
		began = true
	}
	o.next = now.Add(backoff(min(lowest, probeEvery), probeEvery, max(0, o.failures-outageAfter)))
	return began, false
}

// rest waits for d by the destination's clock, or until over is closed, or
// until ctx ends, whose error it then returns.
func (d *Destination) rest(ctx context.Context, pause time.Duration, over <-chan struct{}) error {
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		select {
		case <-over:
			cancel()
		case <-short.Done():
		}
	}()
	_ = d.clock.Sleep(short, pause)
	cancel()
	<-woken
	return ctx.Err()
}
