package remotewrite

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/otlpgw/otlpgw/storage"
)

// pause waits before the next attempt, or returns the error of the last one if
// the deadline comes first.
func (s *Sender) pause(attempt int, a *answer, v verdict) *storage.Error {
	d := s.d
	wait := backoff(d.o.MinBackoff, d.o.MaxBackoff, attempt)
	fail := &storage.Error{Kind: storage.KindUnavailable, RetryAfter: a.retryAfter, Err: fmt.Errorf("%s: %s", d.name, a)}
	if v == throttled {
		fail.Kind = storage.KindThrottled
	}
	if !d.clock.Now().Add(max(wait, a.retryAfter) + minAttempt).Before(s.deadline) {
		return fail
	}
	// A pause that the far end asked for is kept by admit, for all senders.
	if over := d.outage.lasting(); over != nil {
		if d.rest(s.ctx, wait, over) != nil {
			return fail
		}
	} else if d.clock.Sleep(s.ctx, wait) != nil {
		return fail
	}
	return nil
}

// minAttempt is the least time that a repeated attempt is given: one that is
// cut off by the deadline stores its samples and loses the answer.
const minAttempt = 20 * time.Millisecond

// backoff doubles from lowest to highest and takes between half and all of it
// at random, so that senders that failed together do not come back together.
func backoff(lowest, highest time.Duration, attempt int) time.Duration {
	d := highest
	if attempt < 32 {
		if grown := lowest << attempt; grown > 0 && grown < highest {
			d = grown
		}
	}
	return d/2 + rand.N(d/2+1)
}
