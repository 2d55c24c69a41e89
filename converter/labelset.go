package converter

import (
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// variant is what one series of a point has beyond the labels that all of them
// share: the end of its name, and one more label if extra is not empty.
type variant struct{ suffix, extra, value string }

// vary adds a series to the point at hand.
func (lb *labelBuilder) vary(suffix, extra, value string) {
	lb.variants = append(lb.variants, variant{suffix, extra, value})
}

// flat says that a label set is one string of names and values, each behind its
// length, so that those of a point can be cut from one piece of memory.
const flat = labels.ImplementationName == "stringlabels" && unsafe.Sizeof(labels.Labels{}) == unsafe.Sizeof("")

// buildAll returns the label sets of the point's series: the merged labels, under
// the metric's name, with each of the variants. They own their memory. The
// returned slice is valid until the next call.
func (lb *labelBuilder) buildAll(name string) []labels.Labels {
	lb.sets = lb.sets[:0]
	if !flat {
		for _, v := range lb.variants {
			lb.sets = append(lb.sets, lb.build(name+v.suffix, v.extra, v.value))
		}
		return lb.sets
	}
	// Between the shared labels stand the name and, behind it, the extra one.
	lb.shared = lb.shared[:0]
	extra := lb.variants[len(lb.variants)-1].extra
	nameAt, extraAt := -1, -1
	for _, a := range lb.list {
		if a.value == "" { // An empty label is no label.
			continue
		}
		if nameAt < 0 && a.name > model.MetricNameLabel {
			nameAt = len(lb.shared)
		}
		if extraAt < 0 && a.name > extra {
			extraAt = len(lb.shared)
		}
		lb.shared = appendLabelText(appendLabelText(lb.shared, a.name), a.value)
	}
	if nameAt < 0 {
		nameAt = len(lb.shared)
	}
	if extraAt < 0 {
		extraAt = len(lb.shared)
	}
	extraAt = max(extraAt, nameAt)
	size := 0
	for _, v := range lb.variants {
		size += len(lb.shared) + labelTextSize(len(model.MetricNameLabel)) + labelTextSize(len(name)+len(v.suffix))
		if v.extra != "" {
			size += labelTextSize(len(v.extra)) + labelTextSize(len(v.value))
		}
	}
	out := make([]byte, 0, size)
	for _, v := range lb.variants {
		from := len(out)
		out = append(out, lb.shared[:nameAt]...)
		out = appendLabelText(out, model.MetricNameLabel)
		out = append(append(appendLabelSize(out, len(name)+len(v.suffix)), name...), v.suffix...)
		out = append(out, lb.shared[nameAt:extraAt]...)
		if v.extra != "" {
			out = appendLabelText(appendLabelText(out, v.extra), v.value)
		}
		out = append(out, lb.shared[extraAt:]...)
		lb.sets = append(lb.sets, labelsOf(out[from:len(out):len(out)]))
	}
	return lb.sets
}

// labelsOf returns bytes that nobody will change as the label set that they
// encode. It is used when label sets are flat.
func labelsOf(b []byte) (ls labels.Labels) {
	*(*string)(unsafe.Pointer(&ls)) = view(b)
	return ls
}

func appendLabelText(dst []byte, s string) []byte { return append(appendLabelSize(dst, len(s)), s...) }

// appendLabelSize appends a length below maxLabelText: one byte, or three behind
// a marker.
func appendLabelSize(dst []byte, n int) []byte {
	if n < 255 {
		return append(dst, byte(n))
	}
	return append(dst, 255, byte(n), byte(n>>8), byte(n>>16))
}

func labelTextSize(n int) int {
	if n < 255 {
		return 1 + n
	}
	return 4 + n
}
