package storagetest

import (
	"context"
	"errors"
	"sync"

	"github.com/otlpgw/otlpgw/storage"
)

// faults is what a [Recorder] was told to do wrong. The recorder's lock guards it.
type faults struct {
	appends   int
	onNth     map[int]error
	onCommits []commitFault
	gate      *Gate
}

type commitFault struct{ err error }

// FailAppend makes one append fail with err: the nth from now, counted from 1
// over all transactions. Pass an error that storage.RefusalReason knows for a
// refusal of that sample, another for one that ends the transaction.
func (r *Recorder) FailAppend(nth int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults.onNth == nil {
		r.faults.onNth = map[int]error{}
	}
	r.faults.onNth[r.faults.appends+nth] = err
}

// FailCommit makes the next commits fail, one for each error and in their
// order; nil lets one pass. A *storage.Error of KindRefused stores what is
// outside its Refused, any other error stores nothing.
func (r *Recorder) FailCommit(errs ...error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range errs {
		r.faults.onCommits = append(r.faults.onCommits, commitFault{err})
	}
}

func (f *faults) onAppend() error {
	f.appends++
	err := f.onNth[f.appends]
	delete(f.onNth, f.appends)
	return err
}

func (f *faults) onCommit(tx int) (*commitFault, *Held) {
	var fault *commitFault
	if len(f.onCommits) > 0 {
		if f.onCommits[0].err != nil {
			fault = &f.onCommits[0]
		}
		f.onCommits = f.onCommits[1:]
	}
	if f.gate == nil {
		return fault, nil
	}
	return fault, f.gate.hold(tx)
}

// commit stores what the fault leaves.
func (c *commitFault) commit(r *Recorder, pending []*kept) error {
	var e *storage.Error
	if !errors.As(c.err, &e) || e.Kind != storage.KindRefused {
		return c.err
	}
	var stored []*kept
	for i, k := range pending {
		if !refused(e.Refused, i) {
			stored = append(stored, k)
		}
	}
	r.store(stored)
	return c.err
}

func refused(rs []storage.Refusal, i int) bool {
	for _, r := range rs {
		if r.First <= i && i <= r.Last {
			return true
		}
	}
	return false
}

// Gate holds commits so that a test settles their order.
type Gate struct {
	// Arrived delivers every commit that has come to the gate. The test must
	// take them from here.
	Arrived <-chan *Held

	arrived chan *Held
	mu      sync.Mutex
	opened  bool
	held    []*Held
}

// Held is one commit that waits at a [Gate].
type Held struct {
	// Tx is the number of the transaction, as in [Sample].
	Tx      int
	release chan struct{}
	once    sync.Once
}

// maxHeld is how many commits a gate takes before the next blocks with the
// recorder's lock held: more than any test waits for at once.
const maxHeld = 1024

// HoldCommits makes every commit from now on wait at the returned gate, until
// it is let go or its context ends (then it fails as unavailable and stores
// nothing).
func (r *Recorder) HoldCommits() *Gate {
	arrived := make(chan *Held, maxHeld)
	g := &Gate{Arrived: arrived, arrived: arrived}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.gate = g
	return g
}

// Open lets every commit through, now and later.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = true
	for _, h := range g.held {
		h.Release()
	}
	g.held = nil
}

// Release lets the commit go on. Calling it again does nothing.
func (h *Held) Release() { h.once.Do(func() { close(h.release) }) }

func (g *Gate) hold(tx int) *Held {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened {
		return nil
	}
	h := &Held{Tx: tx, release: make(chan struct{})}
	g.held = append(g.held, h)
	g.arrived <- h
	return h
}

func (h *Held) wait(ctx context.Context) error {
	select {
	case <-h.release:
		return nil
	case <-ctx.Done():
		return storage.Unavailable(context.Cause(ctx), 0)
	}
}
