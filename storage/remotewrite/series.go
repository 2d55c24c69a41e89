package remotewrite

import (
	"strings"
	"sync/atomic"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
)

// Series is one label set of a [Table]. It does not change but for its caches
// and is safe for concurrent use; it stays usable after its ref was forgotten.
type Series struct {
	Form // as destinations without rules get it
	meta atomic.Pointer[Metadata]
}

// Hash returns the hash of the label set. It is computed.
func (s *Series) Hash() uint64 { return s.labels.Hash() }

// To returns the series as the destination with that index gets it, or nil if
// a rule of the destination drops it.
func (s *Series) To(t *Table, destination int) *Form {
	if t.plain[destination] {
		return &s.Form
	}
	return s.extra.Load().forms[destination]
}

// Ref returns the series' number in its table, never zero.
func (s *Series) Ref(t *Table) promstorage.SeriesRef {
	return promstorage.SeriesRef(s.num() ^ t.salt)
}

// Metadata says what a metric is. It is shared by the series of a metric and
// never changes.
type Metadata struct {
	Type       model.MetricType
	Unit, Help string
	// Family is the metric family's name; the name that 1.0 gets is escaped.
	Family   string
	familyV1 string

	dict       *dictionary // whose numbers help and unit are; may be nil
	help, unit uint32
}

// Metadata returns the series' metadata as a value to share. The strings are
// copied if they are new; series whose metadata does not change allocate
// nothing.
func (s *Series) Metadata(m metadata.Metadata, family string) *Metadata {
	if family == "" {
		family = s.labels.Get(model.MetricNameLabel)
	}
	last := s.meta.Load()
	if last != nil && last.Help == m.Help && last.Type == m.Type && last.Unit == m.Unit && last.Family == family {
		return last
	}
	var now *Metadata
	if s.template != nil {
		now = s.template.dict.metadata(m, family)
	} else {
		now = newMetadata(m, family)
	}
	s.meta.Store(now)
	return now
}

func newMetadata(m metadata.Metadata, family string) *Metadata {
	family = strings.Clone(family)
	return &Metadata{
		Type: m.Type, Unit: strings.Clone(m.Unit), Help: strings.Clone(m.Help), Family: family,
		familyV1: model.EscapeName(family, model.UnderscoreEscaping),
	}
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
