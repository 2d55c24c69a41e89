package remotewrite

import (
	"strings"
	"sync/atomic"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
)

// Series is one label set of a [Table]. It does not change but for its caches
// and is safe for concurrent use; it stays usable after its ref was forgotten.
type Series struct {
	labels labels.Labels
	hash   uint64
	ref    promstorage.SeriesRef
	next   *Series // in the table, with the same hash
	forms  []*Form // by destination; nil where a rule drops the series
	meta   atomic.Pointer[Metadata]
	used   atomic.Bool // since the table's clock came by
}

// use writes only if need be, so that processors can share the line.
func (s *Series) use() {
	if !s.used.Load() {
		s.used.Store(true)
	}
}

// Ref returns the series' number in its table, never zero.
func (s *Series) Ref() promstorage.SeriesRef { return s.ref }

// Hash returns the hash of the label set.
func (s *Series) Hash() uint64 { return s.hash }

// Form is a series as one destination gets it: relabelled, and with what the
// encoders derive from the labels. Forms are compared by pointer.
type Form struct {
	series *Series // whose form it is
	labels labels.Labels
	// v1 holds the label fields of a 1.0 TimeSeries, made at first use.
	v1 atomic.Pointer[[]byte]
	// classic holds the series of a converted histogram with custom buckets.
	classic atomic.Pointer[classic]
}

// Labels returns the label set that goes out in 2.0 messages.
func (f *Form) Labels() labels.Labels { return f.labels }

// Metadata says what a metric is. It is shared by samples and never changes.
type Metadata struct {
	Type       model.MetricType
	Unit, Help string
	// Family is the metric family's name; the name that 1.0 gets is escaped.
	Family   string
	familyV1 string
}

// Metadata returns the series' metadata as a value to share. The strings of m
// are kept, family is copied. Series whose metadata does not change allocate
// nothing.
func (s *Series) Metadata(m metadata.Metadata, family string) *Metadata {
	if family == "" {
		family = s.labels.Get(model.MetricNameLabel)
	}
	last := s.meta.Load()
	if last != nil && last.Type == m.Type && last.Unit == m.Unit && last.Help == m.Help && last.Family == family {
		return last
	}
	family = strings.Clone(family)
	now := &Metadata{
		Type: m.Type, Unit: m.Unit, Help: m.Help, Family: family,
		familyV1: model.EscapeName(family, model.UnderscoreEscaping),
	}
	s.meta.Store(now)
	return now
}

// empty reports whether there is nothing to tell a far end.
func (m *Metadata) empty() bool {
	return m == nil || m.Unit == "" && m.Help == "" && metricType(m.Type) == 0
}

// metricType returns the number that both messages give to a type:
// UNSPECIFIED = 0, COUNTER = 1, GAUGE = 2, HISTOGRAM = 3, GAUGEHISTOGRAM = 4,
// SUMMARY = 5, INFO = 6, STATESET = 7.
func metricType(t model.MetricType) uint64 {
	switch t {
	case model.MetricTypeCounter:
		return 1
	case model.MetricTypeGauge:
		return 2
	case model.MetricTypeHistogram:
		return 3
	case model.MetricTypeGaugeHistogram:
		return 4
	case model.MetricTypeSummary:
		return 5
	case model.MetricTypeInfo:
		return 6
	case model.MetricTypeStateset:
		return 7
	}
	return 0
}
