package converter

import (
	"fmt"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// maxPointLabels bounds the labels of all series of one point, in bytes. Every
// bucket repeats the point's attributes, so that a histogram of a few kilobytes
// with one long attribute could ask for gigabytes.
const maxPointLabels = 4 << 20

// What the labels of the new series of one request may take, in bytes: a fixed
// part, and a multiple of the request. Labels repeat what a request says once (a
// resource, a scope, the attributes of a histogram), so that a few kilobytes
// could ask for gigabytes; ordinary requests ask for less than ten times
// themselves.
const (
	requestLabels        = 64 << 20
	requestLabelsPerByte = 16
)

// maxInfoLabels bounds the labels of one target_info, in bytes.
const maxInfoLabels = 1 << 20

// seriesCost is what a series takes beside its labels, in bytes.
const seriesCost = 256

// maxAttributes is the most attributes of a point, a scope or a resource, and
// the most members of a list or map in one. An empty one takes two bytes on the
// wire and fifty times that once it is read.
const maxAttributes = 16 << 10

// crowdedText says that there are more than maxAttributes.
var crowdedText = fmt.Sprintf("more than %d attributes, or more members in one of them", maxAttributes)

// maxBuckets is the most explicit bounds or quantiles of a point: ten times
// what anybody uses. Each becomes a series.
const maxBuckets = 4096

// over returns which limit on labels the merged labels of a point are over,
// for a point of n series, or nothing.
func (c *converter) over(n int) string {
	l := &c.opts.Limits
	size, names := 0, 2 // the metric's name, and le or quantile
	for _, a := range c.labels.list {
		if a.value == "" {
			continue
		}
		names++
		size += len(a.name) + len(a.value)
		if l.MaxLabelNameLength > 0 && len(a.name) > l.MaxLabelNameLength {
			return fmt.Sprintf("label name %q of %d bytes is longer than limits.max_label_name_length (%d)",
				excerpt(a.name), len(a.name), l.MaxLabelNameLength)
		}
		if l.MaxLabelValueLength > 0 && len(a.value) > l.MaxLabelValueLength {
			return fmt.Sprintf("value of label %q of %d bytes is longer than limits.max_label_value_length (%d)",
				excerpt(a.name), len(a.value), l.MaxLabelValueLength)
		}
	}
	if n == 1 {
		names-- // no le
	}
	if l.MaxLabelNames > 0 && names > l.MaxLabelNames {
		return fmt.Sprintf("%d labels are more than limits.max_label_names_per_series (%d)", names, l.MaxLabelNames)
	}
	if size*n > maxPointLabels {
		return fmt.Sprintf("%d series with labels of %d bytes take more than %d bytes", n, size, maxPointLabels)
	}
	return ""
}

// exhausted takes room for the n series of a point from what the request may
// ask for, or says that there is none. The next request has its own.
func (c *converter) exhausted(n int) string {
	size := seriesCost
	for _, a := range c.labels.list {
		size += len(a.name) + len(a.value)
	}
	room := requestLabels + requestLabelsPerByte*len(c.body)
	if c.built += n * size; c.built > room {
		return fmt.Sprintf("the new series of one request take more than %d bytes", room)
	}
	return ""
}

// crowded returns which limit on the number of series the new ones among sets
// would break, or nothing.
func (c *converter) crowded(s *sender, sets []labels.Labels) string {
	l := &c.opts.Limits
	if l.MaxSeriesPerMetric == 0 && l.MaxActiveSeries == 0 {
		return ""
	}
	fresh := 0
	byName := make(map[string]int)
	for _, ls := range sets {
		if s.tenant.Records.Known(ls) {
			continue
		}
		fresh++
		name := ls.Get(model.MetricNameLabel)
		byName[name]++
		if n := s.tenant.Records.Metric(name) + byName[name]; l.MaxSeriesPerMetric > 0 && n > l.MaxSeriesPerMetric {
			return fmt.Sprintf("%q would have more series than limits.max_series_per_metric (%d)", excerpt(name), l.MaxSeriesPerMetric)
		}
	}
	if l.MaxActiveSeries > 0 && fresh > 0 && s.tenant.Records.Len()+fresh > l.MaxActiveSeries {
		return fmt.Sprintf("there would be more series than limits.max_active_series (%d)", l.MaxActiveSeries)
	}
	return ""
}

// excerpt returns the beginning of a string, for messages.
func excerpt(s string) string {
	if len(s) <= reportName {
		return s
	}
	n := reportName
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
