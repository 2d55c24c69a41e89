package direct

import (
	"time"

	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// worker sends one batch at a time. There are as many as were ever needed at
// once; who was idle for the shortest time is woken first, so that few stay warm.
type worker struct {
	d      *desk
	sender *remotewrite.Sender
	wake   chan struct{}

	lines []*line
	// The batch: units[i] is what transaction txs[i] has in it, in places[i].
	units    []remotewrite.Unit
	txs      []*settlement
	places   [][]*place
	index    map[*settlement]int // made when there are many
	deadline time.Time
	tenant   *tenant
}

// manyUnits is when a map is faster than a walk.
const manyUnits = 16

func (w *worker) run() {
	for {
		w.send()
		again, stay := w.d.free(w)
		if again {
			continue
		}
		if !stay {
			return
		}
		if _, ok := <-w.wake; !ok {
			return
		}
	}
}

// add puts a part into the batch. The desk's lock is held.
func (w *worker) add(p *place) {
	w.tenant = p.part.tenant
	i := w.unit(p.part.settlement)
	w.units[i].Parts = append(w.units[i].Parts, p.part.samples)
	w.places[i] = append(w.places[i], p)
	if p.part.deadline.After(w.deadline) {
		w.deadline = p.part.deadline
	}
}

// unit returns the index of what the transaction has in the batch.
func (w *worker) unit(tx *settlement) int {
	n := len(w.txs)
	if n > 0 && w.txs[n-1] == tx {
		return n - 1
	}
	if n < manyUnits {
		for i := range w.txs {
			if w.txs[i] == tx {
				return i
			}
		}
	} else {
		if len(w.index) == 0 {
			if w.index == nil {
				w.index = map[*settlement]int{}
			}
			for i := range w.txs {
				w.index[w.txs[i]] = i
			}
		}
		if i, ok := w.index[tx]; ok {
			return i
		}
		w.index[tx] = n
	}
	w.txs = append(w.txs, tx)
	if n < cap(w.units) {
		w.units, w.places = w.units[:n+1], w.places[:n+1]
	} else {
		w.units, w.places = append(w.units, remotewrite.Unit{}), append(w.places, nil)
	}
	return n
}

// send fills a batch and delivers it.
func (w *worker) send() {
	d := w.d
	d.mu.Lock()
	d.fill(w)
	// What did not fit may be another worker's.
	d.dispatch()
	d.mu.Unlock()
	if len(w.units) == 0 {
		return // who waited has left
	}
	w.sender.Send(d.b.ctx, remotewrite.Batch{Tenant: w.tenant.name, Deadline: w.deadline, Units: w.units}, w.settle)
	w.reset()
}

// settle passes on what became of the unit.
func (w *worker) settle(i int, out remotewrite.Outcome) {
	d, tx, places := w.d, w.txs[i], w.places[i]
	if out.Err != nil && !d.destination.Required() {
		for _, p := range places {
			d.destination.Lost(len(p.part.samples))
		}
	}
	all := out.Err == nil && len(out.Refused) == 0
	d.settled(places, all, out.Alone)
	if d.destination.Required() {
		if all && tx.isOver() {
			// The client was told to send it again; this destination has it.
			for _, p := range places {
				d.destination.Remember(w.tenant.name, p.part.samples)
			}
		}
		tx.add(d.index, len(places), out)
	}
	for _, p := range places {
		p.part.left()
	}
}

// maxKeptUnits bounds what a worker keeps for the next batch.
const maxKeptUnits = 4096

// reset lets go of the batch.
func (w *worker) reset() {
	if len(w.units) > maxKeptUnits {
		w.units, w.places, w.txs, w.index = nil, nil, nil, nil
	}
	for i := range w.units {
		clear(w.units[i].Parts)
		w.units[i].Parts = w.units[i].Parts[:0]
		clear(w.places[i])
		w.places[i] = w.places[i][:0]
	}
	clear(w.txs)
	clear(w.index)
	w.units, w.places, w.txs = w.units[:0], w.places[:0], w.txs[:0]
	w.deadline, w.tenant = time.Time{}, nil
}
