package storagetest

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
)

// Sample is one stored sample with everything that came with it. Exactly one
// of V, H and FH is meant: FH if not nil, else H if not nil, else V.
type Sample struct {
	Labels labels.Labels
	Ref    promstorage.SeriesRef
	// ST and T are the start timestamp (0 = none) and the time, in ms.
	ST, T            int64
	V                float64
	H                *histogram.Histogram
	FH               *histogram.FloatHistogram
	Exemplars        []exemplar.Exemplar
	Metadata         metadata.Metadata
	MetricFamilyName string

	// Tx numbers the transactions from 1 in the order of their opening.
	Tx int
	// Index is the sample's place among the transaction's successful appends,
	// from 0, as in storage.Refusal.
	Index int
	// Target is the hash of the last call of Target before the append.
	Target uint64
}

// Sort orders samples by labels, then time; samples of the same series and
// time keep their order.
func Sort(samples []Sample) {
	slices.SortStableFunc(samples, func(a, b Sample) int {
		return cmp.Or(labels.Compare(a.Labels, b.Labels), cmp.Compare(a.T, b.T))
	})
}
