package otlp

import (
	"fmt"
	"iter"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// eachMetric yields every metric of a request.
func eachMetric(msg *colmetricspb.ExportMetricsServiceRequest) iter.Seq[*metricspb.Metric] {
	return func(yield func(*metricspb.Metric) bool) {
		for _, r := range msg.ResourceMetrics {
			for _, s := range r.ScopeMetrics {
				for _, m := range s.Metrics {
					if !yield(m) {
						return
					}
				}
			}
		}
	}
}

func pointKind(m *metricspb.Metric) string { return fmt.Sprintf("%T", m.Data) }
