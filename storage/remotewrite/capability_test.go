package remotewrite

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/stretchr/testify/require"
)

// What a destination cannot take is left out of its messages.
func TestCapabilities(t *testing.T) {
	for version, set := range versions {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, set, func(o *DestinationOptions) {
				o.SendMetadata, o.SendStartTimestamps, o.SendExemplars, o.EscapeNames = false, false, false, true
			})
			s := b.series(labels.FromStrings("__name__", "http.duration", "http.route", "/é", "job", "j"))
			sample := Sample{Series: s, T: 2000, ST: 1000, V: 1, Exemplars: nil}
			sample.Meta = s.Metadata(metadata.Metadata{Type: model.MetricTypeCounter, Help: "Help.", Unit: "s"}, "http.duration")
			sample.Exemplars = append(sample.Exemplars, at("t", 1))
			require.Equal(t, Outcome{}, b.send(sample))
			require.Len(t, b.far.Stored(), 1)
			got := b.far.Stored()[0]
			require.Equal(t, `{__name__="http_duration", http_route="/é", job="j"}`, got.Labels.String())
			require.Zero(t, got.ST)
			require.Empty(t, got.Exemplars)
			require.Empty(t, got.Metadata.Help)
			require.Empty(t, b.far.Requests()[0].Metadata)
		})
	}
}
