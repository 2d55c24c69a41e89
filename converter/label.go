package converter

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// maxNames is how many sanitised label names the scratch map keeps for one
// request. Senders that invent attribute keys must not grow it without bound.
const maxNames = 4096

// maxLabelText is the longest name or value that labels.Labels can hold: it
// panics on longer ones, and at 2^24 it stores a length of 0.
const maxLabelText = 1<<24 - 1

// attribute is one label on its way: its name, its value, and the key it had,
// by which values that meet in one name are ordered.
type attribute struct{ name, value, key string }

// labelBuilder makes label sets from attributes. Its strings may be views into
// the request; what [labelBuilder.build] returns is a copy.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Metric Attributes".
type labelBuilder struct {
	namer otlptranslator.LabelNamer
	names map[string]string // sanitised names of this request
	list  []attribute
	text  []byte // values that are not views

	// The series of the point at hand; see labelset.go.
	variants []variant
	shared   []byte
	sets     []labels.Labels

	out  labels.ScratchBuilder
	warn func(warning, string)
}

// key fallback: the library refuses keys of which it leaves only underscores,
// and gives this name where it is asked to collapse them.
const nothingLeft = "key_"

func (lb *labelBuilder) reset() {
	clear(lb.names)
	clear(lb.list[:cap(lb.list)])
	lb.list, lb.text = lb.list[:0], lb.text[:0]
	lb.variants = trim(lb.variants[:cap(lb.variants)], maxKeptValues)
	lb.sets = trim(lb.sets[:cap(lb.sets)], maxKeptValues)
	lb.shared = trimBytes(lb.shared)
	lb.out = labels.ScratchBuilder{} // It cannot be cleared.
}

// begin starts a new label set.
func (lb *labelBuilder) begin() {
	lb.list, lb.text, lb.variants = lb.list[:0], lb.text[:0], lb.variants[:0]
}

// name returns the label name of an attribute key, or false when there is none.
func (lb *labelBuilder) name(key string) (string, bool) {
	if name, ok := lb.names[key]; ok {
		return name, name != ""
	}
	name, err := lb.namer.Build(key)
	switch {
	case key == "" || !utf8.ValidString(key):
		name = ""
	case err != nil:
		name = nothingLeft
	}
	if len(lb.names) < maxNames {
		lb.names[strings.Clone(key)] = strings.Clone(name)
	}
	return name, name != ""
}

// add takes an attribute under prefix and its key. It reports false for one
// that cannot be a label.
func (lb *labelBuilder) add(prefix string, key []byte, v otlp.Value) bool {
	k := view(key)
	if prefix != "" {
		k = prefix + k
	}
	name, ok := lb.name(k)
	if !ok {
		return false
	}
	if reserved(name) || reserved(k) {
		lb.warn(warnReserved, excerpt(k))
		return true // Labels of this form are Prometheus's own.
	}
	if v.Members > maxAttributes {
		return false
	}
	var value string
	if v.Kind == otlp.StringKind {
		value = view(v.Bytes)
	} else {
		n := len(lb.text)
		lb.text = v.AppendText(lb.text)
		value = view(lb.text[n:])
	}
	if !utf8.ValidString(value) {
		return false
	}
	lb.list = append(lb.list, attribute{name, value, k})
	return true
}

// addAll takes sorted attributes and reports whether all of them can be labels.
func (lb *labelBuilder) addAll(attributes []canonicalAttribute) (ok bool) {
	ok = true
	for i := range attributes {
		ok = lb.add("", attributes[i].key, attributes[i].value) && ok
	}
	return ok
}

// set adds a label that is no attribute.
func (lb *labelBuilder) set(name, value string) {
	lb.list = append(lb.list, attribute{name, value, name})
}

// protect renames attributes whose name is the gateway's to exported_<name>, as
// a scrape does.
func (lb *labelBuilder) protect(name string) {
	for i := range lb.list {
		if lb.list[i].name == name {
			lb.list[i].name = model.ExportedLabelPrefix + name
			lb.warn(warnExported, name)
		}
	}
}

// has reports whether a label of that name was added.
func (lb *labelBuilder) has(name string) bool {
	return slices.ContainsFunc(lb.list, func(a attribute) bool { return a.name == name })
}

// merge sorts the labels by name and joins the values of those that meet in
// one name with a semicolon, in the order of their keys.
func (lb *labelBuilder) merge() {
	sortAttributes(lb.list)
	if !meet(lb.list) {
		return
	}
	out := lb.list[:0]
	for i := 0; i < len(lb.list); {
		a := lb.list[i]
		j := i + 1
		for j < len(lb.list) && lb.list[j].name == a.name {
			j++
		}
		if j > i+1 {
			lb.warn(warnJoined, excerpt(a.name))
			n := len(lb.text)
			for k, b := range lb.list[i:j] {
				if k > 0 {
					lb.text = append(lb.text, ';')
				}
				lb.text = append(lb.text, b.value...)
			}
			a.value = view(lb.text[n:])
		}
		out = append(out, a)
		i = j
	}
	lb.list = out
}

// sortAttributes sorts by name and key, and leaves equal ones in their order.
func sortAttributes(list []attribute) {
	before := func(a, b *attribute) bool {
		return a.name < b.name || a.name == b.name && a.key < b.key
	}
	if len(list) > 32 {
		slices.SortStableFunc(list, func(a, b attribute) int {
			return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.key, b.key))
		})
		return
	}
	// A few runs that are sorted already.
	for i := 1; i < len(list); i++ {
		if !before(&list[i], &list[i-1]) {
			continue
		}
		a := list[i]
		j := i
		for ; j > 0 && before(&a, &list[j-1]); j-- {
			list[j] = list[j-1]
		}
		list[j] = a
	}
}

// meet reports whether two of the sorted attributes have one name.
func meet(list []attribute) bool {
	for i := 1; i < len(list); i++ {
		if list[i].name == list[i-1].name {
			return true
		}
	}
	return false
}

// build returns the merged labels under a metric name, with one more label if
// extra is not empty. It owns its memory.
func (lb *labelBuilder) build(name, extra, extraValue string) labels.Labels {
	lb.out.Reset()
	lb.out.Add(model.MetricNameLabel, name)
	if extra != "" {
		lb.out.Add(extra, extraValue)
	}
	for _, a := range lb.list {
		if a.value != "" { // An empty label is no label.
			lb.out.Add(a.name, a.value)
		}
	}
	lb.out.Sort()
	return lb.out.Labels()
}

// reserved reports whether a label name has the form __*__.
func reserved(name string) bool {
	return len(name) > 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// view returns b as a string without copying. It lives as long as b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
