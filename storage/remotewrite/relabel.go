package remotewrite

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
)

// Rule is what happens to a series' labels on the way to one destination.
type Rule struct {
	// External labels are added where the series does not have them.
	External labels.Labels
	// Relabel runs after that.
	Relabel []*relabel.Config
	// Escape makes names what 1.0 allows, last.
	Escape bool
}

// idle reports whether the rule changes nothing.
func (r *Rule) idle() bool { return r.External.IsEmpty() && len(r.Relabel) == 0 && !r.Escape }

// apply returns the labels of the destination, and whether to send at all.
func (r *Rule) apply(ls labels.Labels) (labels.Labels, bool) {
	if r.idle() {
		return ls, true
	}
	b := labels.NewBuilder(ls)
	r.External.Range(func(l labels.Label) {
		if b.Get(l.Name) == "" {
			b.Set(l.Name, l.Value)
		}
	})
	if !relabel.ProcessBuilder(b, r.Relabel...) {
		return labels.EmptyLabels(), false
	}
	// What rules keep for themselves in __tmp and the like is not for far ends:
	// the specification reserves these names.
	b.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.ReservedLabelPrefix) && !sendable(l.Name) {
			b.Del(l.Name)
		}
	})
	out := b.Labels()
	if r.Escape && needsEscapeV1(out) {
		out = labels.New(escapeV1(out)...)
	}
	return out, !out.IsEmpty()
}

func sendable(name string) bool {
	return name == model.MetricNameLabel || name == model.MetricTypeLabel || name == model.MetricUnitLabel
}
