package converter

import (
	"cmp"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/converter/series"
)

// Cardinality says where the series are, for /debug/cardinality.
type Cardinality struct {
	Series  int           `json:"series"`
	Metrics []MetricCount `json:"metrics"`
	Labels  []LabelCount  `json:"labels"`
}

// MetricCount is how many active series a metric has.
type MetricCount struct {
	Name   string `json:"name"`
	Series int    `json:"series"`
}

// LabelCount is how many values a label has.
type LabelCount struct {
	Name   string `json:"name"`
	Values int    `json:"values"`
}

// Cardinality counts the active series of all tenants and returns the top
// metrics and labels. It walks the whole cache, one shard at a time.
func (p *Pipeline) Cardinality(top int) Cardinality {
	out := Cardinality{Metrics: []MetricCount{}, Labels: []LabelCount{}}
	metrics := make(map[string]int)
	values := make(map[string]map[string]struct{})
	p.cache.EachTenant(func(t *series.Tenant[*sender]) {
		t.Records.Each(func(ls labels.Labels) bool {
			out.Series++
			ls.Range(func(l labels.Label) {
				if l.Name == model.MetricNameLabel {
					metrics[l.Value]++
					return
				}
				if values[l.Name] == nil {
					values[l.Name] = make(map[string]struct{})
				}
				values[l.Name][l.Value] = struct{}{}
			})
			return true
		})
	})
	for name, n := range metrics {
		out.Metrics = append(out.Metrics, MetricCount{name, n})
	}
	for name, v := range values {
		out.Labels = append(out.Labels, LabelCount{name, len(v)})
	}
	slices.SortFunc(out.Metrics, func(a, b MetricCount) int {
		return cmp.Or(cmp.Compare(b.Series, a.Series), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(out.Labels, func(a, b LabelCount) int {
		return cmp.Or(cmp.Compare(b.Values, a.Values), cmp.Compare(a.Name, b.Name))
	})
	out.Metrics = out.Metrics[:min(top, len(out.Metrics))]
	out.Labels = out.Labels[:min(top, len(out.Labels))]
	return out
}
