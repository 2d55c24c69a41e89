package storagetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
)

// Recorder is a backend in memory. It keeps the contract of
// [storage.Backend], remembers what was committed, fails when told to, and
// writes down every misuse by its caller (see [Recorder.Violations]).
//
// It keeps labels, metadata and histograms as given and looks at them again
// later, so that memory that the caller gave away and then reused is noticed.
// It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	series   map[string]promstorage.SeriesRef
	byRef    map[promstorage.SeriesRef]labels.Labels
	nextRef  promstorage.SeriesRef
	samples  []*kept
	metadata map[string]Sample
	forgot   []promstorage.SeriesRef
	ready    error
	closed   bool

	faults     faults
	violations []string
	counts     Counts
	open       int
}

// Counts says how often each operation was called, failed calls included.
type Counts struct {
	// Begin counts the transactions opened.
	Begin int
	// Append counts calls of Append, Refused those that returned an error.
	Append, Refused int
	// Commit and Rollback count calls, Failed the Commits that returned an error.
	Commit, Rollback, Failed int
}

// recorderRefs keeps the refs of different recorders apart, as those of
// different backends are: one that crossed over is found out.
var recorderRefs atomic.Uint64

var (
	_ storage.Backend        = (*Recorder)(nil)
	_ storage.Forgetter      = (*Recorder)(nil)
	_ storage.TargetAppender = (*recorderAppender)(nil)
)

var errRecorderClosed = storage.Unavailable(errors.New("recorder is closed"), 0)

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder {
	return &Recorder{
		series:   map[string]promstorage.SeriesRef{},
		byRef:    map[promstorage.SeriesRef]labels.Labels{},
		nextRef:  promstorage.SeriesRef(recorderRefs.Add(1) << 32),
		metadata: map[string]Sample{},
	}
}

// AppenderV2 opens a transaction. The context bounds how long its Commit waits
// at a gate (see [Recorder.HoldCommits]).
func (r *Recorder) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Begin++
	r.open++
	return &recorderAppender{rec: r, ctx: ctx, tx: r.counts.Begin}
}

// Ready returns what [Recorder.SetReady] set, and an error once closed.
func (r *Recorder) Ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errRecorderClosed
	}
	return r.ready
}

// SetReady sets the answer of Ready.
func (r *Recorder) SetReady(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = err
}

// Close makes later appends and commits fail. What was recorded stays readable.
func (r *Recorder) Close(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// Forget drops refs: one that comes back is unknown and looked up by labels. One
// that is not known is ignored.
func (r *Recorder) Forget(refs []promstorage.SeriesRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range refs {
		ls, ok := r.byRef[ref]
		if !ok {
			continue
		}
		delete(r.byRef, ref)
		delete(r.series, ls.String())
		r.forgot = append(r.forgot, ref)
	}
}

// Forgotten returns the refs passed to Forget, in order.
func (r *Recorder) Forgotten() []promstorage.SeriesRef {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]promstorage.SeriesRef(nil), r.forgot...)
}

// Counts returns how often each operation was called.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Samples returns what was committed, sorted by [Sort]. The histograms and
// exemplars in it are the recorder's own; the caller must not change them.
func (r *Recorder) Samples() []Sample {
	out := r.InOrder()
	Sort(out)
	return out
}

// InOrder returns what was committed in the order of commits and, within one,
// of appends.
func (r *Recorder) InOrder() []Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Sample, len(r.samples))
	for i, k := range r.samples {
		out[i] = k.Sample
	}
	return out
}

// Series returns the committed samples of the series with exactly these
// labels, by time. It is what a [Harness] of a Recorder reads with.
func (r *Recorder) Series(_ testing.TB, ls labels.Labels) []Sample {
	var out []Sample
	for _, s := range r.Samples() {
		if labels.Equal(s.Labels, ls) {
			out = append(out, s)
		}
	}
	return out
}

// Text returns [Recorder.Samples] as [Text].
func (r *Recorder) Text() string { return Text(r.Samples()) }

// Reset forgets the committed samples, counts and violations. Series, refs and
// faults stay.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples, r.violations, r.counts, r.forgot = nil, nil, Counts{}, nil
	clear(r.metadata)
}

// ref returns the series behind ref as a real store does, which trusts a ref
// that it knows, or looks the labels up.
func (r *Recorder) ref(ref promstorage.SeriesRef, ls labels.Labels) (promstorage.SeriesRef, labels.Labels) {
	if known, ok := r.byRef[ref]; ok {
		if !labels.Equal(known, ls) {
			r.violatef("ref %d of %s was used for %s", ref, known, ls)
		}
		return ref, known
	}
	key := ls.String()
	if ref, ok := r.series[key]; ok {
		return ref, r.byRef[ref]
	}
	r.nextRef++
	r.series[key], r.byRef[r.nextRef] = r.nextRef, ls
	return r.nextRef, ls
}
