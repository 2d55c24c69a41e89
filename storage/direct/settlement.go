package direct

import (
	"errors"
	"sync"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// settlement collects what became of a transaction at its required
// destinations. It outlives the transaction when that did not wait to the end.
type settlement struct {
	mu      sync.Mutex
	waiting int // outcomes to come, one per part and destination
	err     *storage.Error
	over    bool                // the client was told to send it again
	refused [][]storage.Refusal // by destination
	done    chan struct{}       // closed when waiting is zero
}

func newSettlement(waiting int) *settlement {
	return &settlement{waiting: waiting, done: make(chan struct{})}
}

// add takes the outcome of some parts at one destination.
func (s *settlement) add(destination, parts int, out remotewrite.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = worse(s.err, out.Err)
	if len(out.Refused) > 0 {
		for len(s.refused) <= destination {
			s.refused = append(s.refused, nil)
		}
		s.refused[destination] = append(s.refused[destination], out.Refused...)
	}
	if s.waiting -= parts; s.waiting == 0 {
		close(s.done)
	}
}

// end says that the client is told to send the transaction again.
func (s *settlement) end() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
}

func (s *settlement) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// worse returns the error that decides: away before throttled, and of two alike
// the one with the longer pause.
func worse(a, b *storage.Error) *storage.Error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.Kind != b.Kind:
		if a.Kind == storage.KindUnavailable {
			return a
		}
		return b
	case b.RetryAfter > a.RetryAfter:
		return b
	}
	return a
}

// result returns the answer to the transaction, once done is closed: the worst
// of the parties. If one failed for now, the client sends all of it again, so
// what others refused is theirs to say then.
func (s *settlement) result() *storage.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if len(s.refused) == 0 {
		return nil
	}
	merged := remotewrite.MergeRefusals(s.refused...)
	return &storage.Error{Kind: storage.KindRefused, Refused: merged, Err: errors.New(merged[0].Reason)}
}
