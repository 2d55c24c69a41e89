package explain

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/otlpgw/otlpgw/converter"
)

// WriteText prints the result for people:
//
//	name{a="b"} 42 @1000 start=500
//	  # {trace_id="f00"} 0.5 @990
//	size histogram @1000 start=500
//	  count 3, sum 4.5, schema 0
//	  (1,2] 3
//	REJECTED no_time: "orders": time_unix_nano is 0
//	WARNING help_changed: orders
//	REPORT points=3 rejected=1: rejected 1 of 3 data points: …
//
// Times are in milliseconds since 1970; lines that start with "  #" are
// exemplars of the sample above.
func (r *Result) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	for i := range r.Samples {
		r.Samples[i].text(w)
	}
	for _, v := range r.Verdicts {
		fmt.Fprintln(w, verdictText(v))
	}
	if r.Left > 0 {
		fmt.Fprintf(w, "and %d more that are not listed\n", r.Left)
	}
	fmt.Fprintf(w, "REPORT points=%d rejected=%d", r.Report.Points, r.Report.Rejected)
	if r.Report.Message != "" {
		fmt.Fprintf(w, ": %s", printable(r.Report.Message))
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func verdictText(v converter.Verdict) string {
	head := "WARNING "
	if v.Rejected {
		head = "REJECTED "
	}
	head += v.Reason + ": "
	if v.Metric != "" {
		head += strconv.Quote(v.Metric) + ": "
	}
	return head + printable(v.Detail)
}

func (s *Sample) text(w io.Writer) {
	h := s.Histogram
	stale := h == nil && value.IsStaleNaN(s.Value) || h != nil && value.IsStaleNaN(h.Sum)
	what := "histogram"
	switch {
	case stale:
		what = "stale"
	case h == nil:
		what = formatFloat(s.Value)
	}
	fmt.Fprintf(w, "%s %s @%d", seriesText(s.Labels), what, s.Ms)
	if s.StartMs != 0 {
		fmt.Fprintf(w, " start=%d", s.StartMs)
	}
	fmt.Fprintln(w)
	if h != nil && !stale {
		histogramText(w, h)
	}
	for _, e := range s.Exemplars {
		fmt.Fprintf(w, "  # %s %s", seriesText(e.Labels), formatFloat(e.Value))
		if e.HasTs {
			fmt.Fprintf(w, " @%d", e.Ts)
		}
		fmt.Fprintln(w)
	}
}

// histogramText prints the buckets that hold something.
func histogramText(w io.Writer, h *histogram.Histogram) {
	fmt.Fprintf(w, "  count %d, sum %s, ", h.Count, formatFloat(h.Sum))
	if h.UsesCustomBuckets() {
		bounds := make([]string, len(h.CustomValues))
		for i, v := range h.CustomValues {
			bounds[i] = formatFloat(v)
		}
		fmt.Fprintf(w, "custom bounds [%s]\n", strings.Join(bounds, " "))
	} else {
		fmt.Fprintf(w, "schema %d", h.Schema)
		if h.ZeroThreshold != 0 {
			fmt.Fprintf(w, ", zero threshold %s", formatFloat(h.ZeroThreshold))
		}
		fmt.Fprintln(w)
	}
	for _, b := range buckets(h) {
		fmt.Fprintf(w, "  %s %s\n", interval(b), formatFloat(b.Count))
	}
}

// buckets returns the buckets that hold something, ascending.
func buckets(h *histogram.Histogram) (out []histogram.Bucket[float64]) {
	for it := h.ToFloat(nil).AllBucketIterator(); it.Next(); {
		if b := it.At(); b.Count > 0 {
			out = append(out, b)
		}
	}
	return out
}

func interval(b histogram.Bucket[float64]) string {
	left, right := "(", ")"
	if b.LowerInclusive {
		left = "["
	}
	if b.UpperInclusive {
		right = "]"
	}
	return left + formatFloat(b.Lower) + "," + formatFloat(b.Upper) + right
}

// formatFloat is the shortest exact form, without an exponent where that is
// short.
func formatFloat(v float64) string {
	format := byte('g')
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e21 {
		format = 'f'
	}
	return strconv.FormatFloat(v, format, -1, 64)
}

// seriesText prints labels as PromQL has them: the name in front when it may
// stand there, quoted within the braces otherwise.
func seriesText(ls labels.Labels) string {
	var b strings.Builder
	var inside []string
	if name := ls.Get(model.MetricNameLabel); model.LegacyValidation.IsValidMetricName(name) {
		b.WriteString(name)
	} else if name != "" {
		inside = append(inside, strconv.Quote(name))
	}
	ls.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			inside = append(inside, labelName(l.Name)+"="+strconv.Quote(l.Value))
		}
	})
	if len(inside) > 0 || b.Len() == 0 {
		b.WriteString("{" + strings.Join(inside, ", ") + "}")
	}
	return b.String()
}

// labelName prints the name of a label, quoted where PromQL wants that.
func labelName(name string) string {
	if model.LegacyValidation.IsValidLabelName(name) {
		return name
	}
	return strconv.Quote(name)
}

// printable returns s with what could confuse a terminal escaped.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		q := strconv.Quote(s)
		return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	}
	return s
}
