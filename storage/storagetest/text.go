package storagetest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// Text returns the samples as golden files have them, one per line in the
// given order:
//
//	name{a="b"} 42 @1000 st=500
//	  # {trace_id="f00"} 0.5 @990
//
// Times are in ms and st is left out when unknown. Histograms are in the
// notation of PromQL's own tests, staleness markers are the word stale. A line
// that starts with "  #" is an exemplar of the sample above.
func Text(samples []Sample) string {
	var b strings.Builder
	for i := range samples {
		samples[i].text(&b)
	}
	return b.String()
}

// String returns the lines of one sample, see [Text].
func (s Sample) String() string {
	var b strings.Builder
	s.text(&b)
	return b.String()
}

func (s *Sample) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s @%d", seriesText(s.Labels), s.value(), s.T)
	if s.ST != 0 {
		fmt.Fprintf(b, " st=%d", s.ST)
	}
	b.WriteByte('\n')
	for _, e := range s.Exemplars {
		fmt.Fprintf(b, "  # %s %s", e.Labels, formatFloat(e.Value))
		if e.HasTs {
			fmt.Fprintf(b, " @%d", e.Ts)
		}
		b.WriteByte('\n')
	}
}

func (s *Sample) value() string {
	switch {
	case s.FH != nil:
		return histogramText(s.FH)
	case s.H != nil:
		return histogramText(s.H.ToFloat(nil))
	default:
		return formatFloat(s.V)
	}
}

func histogramText(h *histogram.FloatHistogram) string {
	if value.IsStaleNaN(h.Sum) {
		return "stale histogram"
	}
	return h.TestExpression()
}

// formatFloat is the shortest exact form without an exponent where it is short:
// golden files are read by people.
func formatFloat(v float64) string {
	switch {
	case value.IsStaleNaN(v):
		return "stale"
	case math.Abs(v) >= 1e-4 && math.Abs(v) < 1e21:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
}

// seriesText prints labels as a PromQL selector: the name first when it may
// stand there, quoted inside the braces otherwise.
func seriesText(ls labels.Labels) string {
	name := ls.Get(model.MetricNameLabel)
	if name == "" || !model.LegacyValidation.IsValidMetricName(name) {
		return ls.String()
	}
	rest := ls.MatchLabels(false, model.MetricNameLabel)
	if rest.IsEmpty() {
		return name
	}
	return name + rest.String()
}
