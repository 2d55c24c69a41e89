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
	waiting int // outcomes to come
	err     *storage.Error
	refused map[*remotewrite.Destination][]storage.Refusal
	done    chan struct{} // closed when waiting is zero
}

func newSettlement(waiting int) *settlement {
	return &settlement{waiting: waiting, done: make(chan struct{})}
}

// add takes the outcome of one part at one destination.
func (s *settlement) add(l *line, out remotewrite.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = worse(s.err, out.Err)
	if len(out.Refused) > 0 {
		if s.refused == nil {
			s.refused = map[*remotewrite.Destination][]storage.Refusal{}
		}
		s.refused[l.destination] = append(s.refused[l.destination], out.Refused...)
	}
	if s.waiting--; s.waiting == 0 {
		close(s.done)
	}
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
func (s *settlement) result() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if len(s.refused) == 0 {
		return nil
	}
	lists := make([][]storage.Refusal, 0, len(s.refused))
	for _, refused := range s.refused {
		lists = append(lists, refused)
	}
	merged := remotewrite.MergeRefusals(lists...)
	return &storage.Error{Kind: storage.KindRefused, Refused: merged, Err: errors.New(merged[0].Reason)}
}
