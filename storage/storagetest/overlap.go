package storagetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
)

// overlap runs transactions of one series that append in time order, hold
// their samples at the same time and commit newest first. A store that settles
// order at Commit loses the older ones behind a nil.
func overlap(t *testing.T, h *Harness, sample func(n int64) Sample) {
	ls := seriesOf(0)
	const n = 4
	var want []Sample
	at := func(i int) Sample {
		s := sample(int64(i + 1))
		s.Labels, s.T = ls, h.Now-10_000+int64(i)*1000
		want = append(want, s)
		return s
	}

	// The series exists, then it does not: both are on a request's path.
	x := h.begin(t)
	ref := x.add(0, at(0))
	x.commit()
	var txs []tx
	for i := range n {
		x := h.begin(t)
		ref = x.add(ref, at(i+1))
		txs = append([]tx{x}, txs...)
	}
	h.commitInOrder(t, txs...)
	h.stored(t, ls, want...)

	ls, want, txs = seriesOf(1), nil, nil
	for i := range n {
		x := h.begin(t)
		x.add(0, at(i))
		txs = append([]tx{x}, txs...)
	}
	h.commitInOrder(t, txs...)
	h.stored(t, ls, want...)
}

func overlapFloats(t *testing.T, h *Harness) {
	overlap(t, h, func(n int64) Sample { return Sample{V: float64(n)} })
}

func overlapHistograms(t *testing.T, h *Harness) {
	overlap(t, h, func(n int64) Sample { return Sample{H: intHistogram(n)} })
}

func overlapFloatHistograms(t *testing.T, h *Harness) {
	overlap(t, h, func(n int64) Sample { return Sample{FH: floatHistogram(n)} })
}

// sameTwice is a client's retry of what was stored: accepted or refused, it
// changes nothing.
func sameTwice(t *testing.T, h *Harness) {
	if h.Repeats {
		t.Skip("the backend passes on what it is given")
	}
	ls := seriesOf(0)
	for range 2 {
		x := h.begin(t)
		x.add(0, Sample{Labels: ls, T: h.Now - 1000, V: 1})
		x.add(0, Sample{Labels: ls, T: h.Now, V: 2})
		x.commit()
	}
	h.stored(t, ls, Sample{Labels: ls, T: h.Now - 1000, V: 1}, Sample{Labels: ls, T: h.Now, V: 2})
}

// concurrent has writers with series of their own, each in time order, and
// all of them writing to targets that they share.
func concurrent(t *testing.T, h *Harness) {
	const writers, rounds = 8, 20
	of := func(writer int) labels.Labels {
		return labels.FromStrings("__name__", "contract_total", "instance", fmt.Sprint("i-", writer%2), "job", "suite", "writer", fmt.Sprint(writer))
	}
	at := func(writer, round int) Sample {
		return Sample{Labels: of(writer), T: h.Now - rounds*1000 + int64(round)*1000, V: float64(writer*1000 + round)}
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for r := range rounds {
				x := h.begin(t)
				s := at(w, r)
				x.target(s.Labels)
				_, err := x.Append(0, s.Labels, 0, s.T, s.V, nil, nil, promstorage.AppendV2Options{})
				if assert.NoError(t, err) {
					assert.NoError(t, x.Commit())
				}
			}
		})
	}
	wg.Wait()
	for w := range writers {
		var want []Sample
		for r := range rounds {
			want = append(want, at(w, r))
		}
		h.stored(t, of(w), want...)
	}
}
