package explain

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
)

// Sample is one sample that a payload becomes, with what goes with it.
type Sample struct {
	Labels labels.Labels
	// Value is the sample's, unless Histogram is set.
	Value     float64
	Histogram *histogram.Histogram
	// Ms and StartMs are in milliseconds since 1970; a StartMs of 0 is unknown.
	Ms, StartMs int64
	Exemplars   []exemplar.Exemplar
	Metadata    metadata.Metadata
}

// collector is a backend that keeps what is committed, in order. It refuses
// what every store refuses: histograms that contradict themselves.
type collector struct {
	mu      sync.Mutex
	refs    map[string]promstorage.SeriesRef
	samples []Sample
}

var _ storage.Backend = (*collector)(nil)

func newCollector() *collector { return &collector{refs: map[string]promstorage.SeriesRef{}} }

// AppenderV2 opens a transaction.
func (c *collector) AppenderV2(context.Context) promstorage.AppenderV2 {
	return &collecting{to: c}
}

// Ready returns nil.
func (c *collector) Ready() error { return nil }

// Close does nothing.
func (c *collector) Close(context.Context) error { return nil }

// take returns what was committed since the last call.
func (c *collector) take() []Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.samples
	c.samples = nil
	return out
}

// collecting is a transaction of a collector.
type collecting struct {
	to      *collector
	pending []Sample
}

// Append keeps a sample until Commit.
func (a *collecting) Append(ref promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, _ *histogram.FloatHistogram, opts promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if h != nil {
		if err := h.Validate(); err != nil {
			return ref, err
		}
	}
	a.pending = append(a.pending, Sample{
		Labels: ls, Value: v, Histogram: h, Ms: t, StartMs: st,
		Exemplars: slices.Clone(opts.Exemplars), Metadata: opts.Metadata,
	})
	return a.to.ref(ls), nil
}

// Commit makes the samples visible.
func (a *collecting) Commit() error {
	a.to.mu.Lock()
	defer a.to.mu.Unlock()
	a.to.samples = append(a.to.samples, a.pending...)
	a.pending = nil
	return nil
}

// Rollback drops the samples.
func (a *collecting) Rollback() error {
	a.pending = nil
	return nil
}

func (c *collector) ref(ls labels.Labels) promstorage.SeriesRef {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := string(ls.Bytes(nil))
	ref, ok := c.refs[key]
	if !ok {
		ref = promstorage.SeriesRef(len(c.refs) + 1)
		c.refs[key] = ref
	}
	return ref
}
