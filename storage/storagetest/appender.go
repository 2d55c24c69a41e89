package storagetest

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
)

// recorderAppender is one transaction of a [Recorder].
type recorderAppender struct {
	rec     *Recorder
	ctx     context.Context
	tx      int
	target  uint64
	places  []uint64
	pending []*kept
	settled string
}

// Target notes a target; a place is its number in the transaction.
func (a *recorderAppender) Target(hash uint64) int {
	a.target = hash
	a.places = append(a.places, hash)
	return len(a.places) - 1
}

// At notes to which target the samples that follow belong.
func (a *recorderAppender) At(place int) {
	if place < 0 || place >= len(a.places) {
		a.rec.mu.Lock()
		defer a.rec.mu.Unlock()
		a.rec.violatef("At(%d): Target has returned no such place", place)
		return
	}
	a.target = a.places[place]
}

// Append keeps the sample until Commit.
func (a *recorderAppender) Append(ref promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	r := a.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Append++
	ref, err := a.append(ref, ls, st, t, v, h, fh, opts)
	if err != nil {
		r.counts.Refused++
	}
	return ref, err
}

func (a *recorderAppender) append(ref promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	r := a.rec
	if a.settled != "" {
		r.violatef("Append of %s after %s of transaction %d", ls, a.settled, a.tx)
		return 0, errRecorderClosed
	}
	if r.closed {
		return 0, errRecorderClosed
	}
	if err := r.faults.onAppend(); err != nil {
		return 0, err
	}
	r.checkLabels(ls)
	r.checkExemplars(ls, opts.Exemplars)
	if err := r.checkValue(ls, h, fh); err != nil {
		return 0, err
	}

	ref, known := r.ref(ref, ls)
	a.pending = append(a.pending, keep(Sample{
		Labels: known, Ref: ref, ST: st, T: t, V: v, H: h, FH: fh,
		Exemplars: slices.Clone(opts.Exemplars), Metadata: opts.Metadata,
		// Its bytes are the caller's again when Append returns.
		MetricFamilyName: strings.Clone(opts.MetricFamilyName),
		Tx:               a.tx, Index: len(a.pending), Target: a.target,
	}))
	return ref, nil
}

// Commit makes the pending samples readable, unless a fault says otherwise.
func (a *recorderAppender) Commit() error {
	r := a.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Commit++
	if err := a.commit(); err != nil {
		r.counts.Failed++
		return err
	}
	return nil
}

func (a *recorderAppender) commit() error {
	r := a.rec
	if !a.settle("Commit") {
		return errRecorderClosed
	}
	fault, held := r.faults.onCommit(a.tx)
	if held != nil {
		r.mu.Unlock()
		err := held.wait(a.ctx)
		r.mu.Lock()
		if err != nil {
			return err
		}
	}
	if fault != nil {
		return fault.commit(r, a.pending)
	}
	if r.closed {
		return errRecorderClosed
	}
	r.store(a.pending)
	return nil
}

// Rollback drops the pending samples.
func (a *recorderAppender) Rollback() error {
	r := a.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Rollback++
	a.settle("Rollback")
	return nil
}

func (a *recorderAppender) settle(how string) bool {
	r := a.rec
	if a.settled != "" {
		r.violatef("%s after %s of transaction %d", how, a.settled, a.tx)
		return false
	}
	a.settled = how
	r.open--
	// Whatever became of it, the caller must not have touched what it gave away.
	r.checkKept(a.pending)
	return true
}

func (r *Recorder) store(pending []*kept) {
	for _, k := range pending {
		r.samples = append(r.samples, k)
		if !k.Metadata.IsEmpty() {
			family := k.MetricFamilyName
			if family == "" {
				family = k.Labels.Get(model.MetricNameLabel)
			}
			r.metadata[family] = k.Sample
		}
	}
}
