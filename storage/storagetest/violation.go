package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// maxViolations bounds the list: one bug breaks the contract on every sample.
const maxViolations = 100

// kept is a sample with a copy of what the caller gave away, to see whether it
// was touched afterwards.
type kept struct {
	Sample
	labelsCopy    string
	metadataCopy  metadata.Metadata
	hCopy         *histogram.Histogram
	fhCopy        *histogram.FloatHistogram
	exemplarsCopy []string
}

func keep(s Sample) *kept {
	k := &kept{
		Sample:     s,
		labelsCopy: strings.Clone(s.Labels.String()),
		metadataCopy: metadata.Metadata{
			Type: s.Metadata.Type,
			Unit: strings.Clone(s.Metadata.Unit),
			Help: strings.Clone(s.Metadata.Help),
		},
	}
	if s.H != nil {
		k.hCopy = s.H.Copy()
	}
	if s.FH != nil {
		k.fhCopy = s.FH.Copy()
	}
	for _, e := range s.Exemplars {
		k.exemplarsCopy = append(k.exemplarsCopy, strings.Clone(e.Labels.String()))
	}
	return k
}

// changed says what of k the caller changed after Append, empty if nothing.
func (k *kept) changed() string {
	switch {
	case k.Labels.String() != k.labelsCopy:
		return fmt.Sprintf("labels %s were given as %s", k.Labels, k.labelsCopy)
	case k.Metadata.Unit != k.metadataCopy.Unit, k.Metadata.Help != k.metadataCopy.Help:
		return fmt.Sprintf("metadata of %s was given as %+v and is %+v", k.labelsCopy, k.metadataCopy, k.Metadata)
	// Equals ignores the counter reset hint, which a store may adjust.
	case k.H != nil && !k.H.Equals(k.hCopy):
		return fmt.Sprintf("histogram of %s at %d was given as %s and is %s", k.labelsCopy, k.T, k.hCopy, k.H)
	case k.FH != nil && !k.FH.Equals(k.fhCopy):
		return fmt.Sprintf("histogram of %s at %d was given as %s and is %s", k.labelsCopy, k.T, k.fhCopy, k.FH)
	}
	for i, e := range k.Exemplars {
		if e.Labels.String() != k.exemplarsCopy[i] {
			return fmt.Sprintf("exemplar labels %s of %s were given as %s", e.Labels, k.labelsCopy, k.exemplarsCopy[i])
		}
	}
	return ""
}

// Violations returns how callers broke the contract: labels unsorted, repeated,
// empty or without a value; exemplars not ascending by time; two values in one
// sample; a ref used for another series; an invalid histogram; use of a
// transaction after it was settled; memory changed after it was given away;
// transactions that are still open. At most 100 are kept.
func (r *Recorder) Violations() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := slices.Clone(r.violations)
	r.checkKept(r.samples)
	out := r.violations
	r.violations = before // The next call looks at the memory again.
	if r.open > 0 {
		out = append(out, fmt.Sprintf("%d transactions are still open", r.open))
	}
	return out
}

// AssertClean fails the test for each of [Recorder.Violations].
func (r *Recorder) AssertClean(t testing.TB) {
	t.Helper()
	for _, v := range r.Violations() {
		t.Errorf("storage contract: %s", v)
	}
}

func (r *Recorder) violatef(format string, args ...any) {
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, fmt.Sprintf(format, args...))
	}
}

func (r *Recorder) checkKept(samples []*kept) {
	for _, k := range samples {
		if c := k.changed(); c != "" {
			r.violatef("memory changed after Append: %s", c)
		}
	}
}

func (r *Recorder) checkLabels(ls labels.Labels) {
	if ls.IsEmpty() {
		r.violatef("Append without labels")
	}
	last, first := "", true
	ls.Range(func(l labels.Label) {
		switch {
		case l.Name == "":
			r.violatef("%s has a label without a name", ls)
		case l.Value == "":
			r.violatef("label %q of %s has no value", l.Name, ls)
		case !first && l.Name == last:
			r.violatef("label %q of %s is there twice", l.Name, ls)
		case !first && l.Name < last:
			r.violatef("label %q of %s comes after %q", l.Name, ls, last)
		}
		last, first = l.Name, false
	})
}

func (r *Recorder) checkExemplars(ls labels.Labels, es []exemplar.Exemplar) {
	if !slices.IsSortedFunc(es, func(a, b exemplar.Exemplar) int { return int(min(1, max(-1, a.Ts-b.Ts))) }) {
		r.violatef("exemplars of %s are not ascending by time", ls)
	}
}

// checkValue returns the error that the TSDB has for an invalid histogram.
func (r *Recorder) checkValue(ls labels.Labels, h *histogram.Histogram, fh *histogram.FloatHistogram) error {
	if h != nil && fh != nil {
		r.violatef("%s got an integer and a float histogram in one Append", ls)
	}
	var err error
	switch {
	case fh != nil:
		err = fh.Validate()
	case h != nil:
		err = h.Validate()
	}
	if err != nil {
		r.violatef("invalid histogram for %s: %v", ls, err)
	}
	return err
}
