package remotewrite

import (
	"bytes"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// AppendV1 appends a prometheus.WriteRequest with the rows, those of a series
// being together and in time order. Start times have no place in 1.0, nor do
// histograms with custom buckets, which must not be among the rows. Metadata
// goes out once per family, in the field that Prometheus added.
//
//	repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3;
func (e *Encoder) AppendV1(dst []byte, rows []Row) []byte {
	all := rows
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Form == rows[0].Form && rows[n].isHistogram() == rows[0].isHistogram() {
			n++
		}
		dst = e.appendSeriesV1(dst, rows[:n])
		rows = rows[n:]
	}
	for i := range all {
		if e.noMetadata {
			break
		}
		if i == 0 || all[i].Meta != all[i-1].Meta {
			dst = e.appendMetadataV1(dst, all[i].Meta)
		}
	}
	e.reset()
	return dst
}

// appendSeriesV1 appends a TimeSeries. As in 2.0 its rows are of one kind, since
// receivers read all samples before all histograms, whatever their times.
//
//	repeated Label labels = 1; repeated Sample samples = 2;
//	repeated Exemplar exemplars = 3; repeated Histogram histograms = 4;
func (e *Encoder) appendSeriesV1(dst []byte, rows []Row) []byte {
	dst, series := openLong(dst, 1)
	dst = e.appendFieldsV1(dst, rows[0].Form)
	var start int
	for i := range rows {
		if rows[i].zero {
			dst = appendZeroV1(dst, &rows[i])
		}
		if r := &rows[i]; r.isHistogram() {
			dst, start = open(dst, 4)
			dst = appendHistogram(dst, r.H, r.FH, 0, r.T)
			dst = shut(dst, start)
		} else {
			// double value = 1; int64 timestamp = 2;
			dst, start = open(dst, 2)
			dst = appendDouble(dst, 1, r.V)
			dst = appendInt(dst, 2, r.T)
			dst = shut(dst, start)
		}
	}
	if !e.noExemplars {
		for i := range rows {
			for j := range rows[i].Exemplars {
				// repeated Label labels = 1; double value = 2; int64 timestamp = 3;
				ex := &rows[i].Exemplars[j]
				dst, start = open(dst, 3)
				dst = appendLabelsV1(dst, ex.Labels)
				dst = appendDouble(dst, 2, ex.Value)
				dst = appendInt(dst, 3, exemplarTime(ex.HasTs, ex.Ts, rows[i].T))
				dst = shut(dst, start)
			}
		}
	}
	if n := len(dst) - series; n < 1<<7 || n >= 1<<14 {
		// What a stencil knows of the message is moved.
		e.stencils.each(func(p *stencil) { p.of = nil })
	}
	return shutLong(dst, series)
}

// appendMetadataV1 appends a MetricMetadata, once per family and message.
//
//	MetricType type = 1; string metric_family_name = 2; string help = 4; string unit = 5;
func (e *Encoder) appendMetadataV1(dst []byte, m *Metadata) []byte {
	if m.empty() || m.familyV1 == "" {
		return dst
	}
	if _, done := e.families[m.familyV1]; done {
		return dst
	}
	e.families[m.familyV1] = struct{}{}
	dst, start := open(dst, 3)
	dst = appendUint(dst, 1, metricType(m.Type))
	dst = appendString(dst, 2, m.familyV1)
	dst = appendString(dst, 4, m.Help)
	dst = appendString(dst, 5, m.Unit)
	return shut(dst, start)
}

// appendFieldsV1 appends the form's labels as fields of a 1.0 TimeSeries.
func (e *Encoder) appendFieldsV1(dst []byte, f *Form) []byte {
	if f.escaped() {
		return append(dst, f.fieldsV1()...)
	}
	p := e.stencils.of(f.template)
	if p.of != f.template {
		p.load(f.template)
	}
	start := len(dst)
	dst, ok := p.append(dst, f)
	if !ok {
		// A younger series has made one more label vary.
		p.load(f.template)
		dst, _ = p.append(dst[:start], f)
	}
	return dst
}

// escaped reports whether the form's 1.0 labels are kept with it: they are not
// those of its template.
func (f *Form) escaped() bool { return f.template == nil || f.template.odd }

// fieldsV1 returns the form's labels as fields of a 1.0 TimeSeries, made once.
func (f *Form) fieldsV1() []byte {
	if x := f.extra.Load(); x != nil && x.v1 != nil {
		return x.v1
	}
	fields := bytes.Clone(appendLabelsV1(nil, f.labels))
	return f.update(func(x *extra) { x.v1 = fields }).v1
}

// stencil is a template as 1.0 has it: the labels that all its series share as
// bytes, with gaps where some differ.
type stencil struct {
	of    *template
	fixed []byte
	gaps  []gapV1
}

// gapV1 is a label of which series have values of their own.
type gapV1 struct {
	label uint32
	own   uint32 // the number of the template's value
	end   int    // of the fixed bytes before it
	name  string
	// last is the number of the value of the last series, or 0, and that label
	// stands in the message from start to stop.
	last        uint32
	start, stop int
}

func (p *stencil) load(t *template) {
	p.of = t
	varies := t.varies.Load()
	p.fixed, p.gaps = p.fixed[:0], p.gaps[:0]
	for i := 0; i < len(t.ids); i += 2 {
		if label := uint32(i / 2); label < maxVaryLabel && varies&(1<<label) != 0 {
			p.gaps = append(p.gaps, gapV1{label: label, own: t.ids[i+1], end: len(p.fixed), name: t.dict.text(t.ids[i])})
			continue
		}
		p.fixed = appendLabelV1(p.fixed, t.dict.text(t.ids[i]), t.dict.text(t.ids[i+1]))
	}
}

// append appends the labels of f, whose template is that of p. It returns false
// if p has no gap where f needs one.
func (p *stencil) append(dst []byte, f *Form) ([]byte, bool) {
	// Gaps and variations both ascend by label.
	v, from := 0, 0
	label, id := f.variation(0)
	for i := range p.gaps {
		g := &p.gaps[i]
		own := g.own
		if id != 0 && label == g.label {
			own = id
			if v++; v < maxVaries {
				label, id = f.variation(v)
			} else {
				id = 0
			}
		}
		dst = append(dst, p.fixed[from:g.end]...)
		start := len(dst)
		if own == g.last {
			dst = append(dst, dst[g.start:g.stop]...)
		} else {
			dst = appendLabelV1(dst, g.name, p.of.dict.text(own))
		}
		g.last, g.start, g.stop = own, start, len(dst)
		from = g.end
	}
	return append(dst, p.fixed[from:]...), id == 0
}

// appendLabelsV1 appends Label messages, sorted by name. Names that 1.0 does
// not allow are escaped with underscores; if two become one, their values are
// joined by semicolons in the order of the names, as OTLP's own rule has it.
//
//	string name = 1; string value = 2;
func appendLabelsV1(dst []byte, ls labels.Labels) []byte {
	if needsEscapeV1(ls) {
		return appendPairsV1(dst, escapeV1(ls))
	}
	ls.Range(func(l labels.Label) { dst = appendLabelV1(dst, l.Name, l.Value) })
	return dst
}

func appendPairsV1(dst []byte, pairs []labels.Label) []byte {
	for _, l := range pairs {
		dst = appendLabelV1(dst, l.Name, l.Value)
	}
	return dst
}

func appendLabelV1(dst []byte, name, value string) []byte {
	dst, start := open(dst, 1)
	dst = appendString(dst, 1, name)
	dst = appendString(dst, 2, value)
	return shut(dst, start)
}

// needsEscapeV1 reports whether a label name or the metric name is outside of
// what 1.0 allows.
func needsEscapeV1(ls labels.Labels) bool {
	escape := false
	ls.Range(func(l labels.Label) {
		if !legacyLabelName(l.Name) || l.Name == model.MetricNameLabel && !model.LegacyValidation.IsValidMetricName(l.Value) {
			escape = true
		}
	})
	return escape
}

func escapeV1(ls labels.Labels) []labels.Label {
	out := make([]labels.Label, 0, ls.Len())
	ls.Range(func(l labels.Label) {
		if l.Name == model.MetricNameLabel {
			l.Value = model.EscapeName(l.Value, model.UnderscoreEscaping)
		}
		l.Name = escapeLabelName(l.Name)
		out = append(out, l)
	})
	slices.SortStableFunc(out, func(a, b labels.Label) int { return strings.Compare(a.Name, b.Name) })
	n := 0
	for _, l := range out {
		if n > 0 && out[n-1].Name == l.Name {
			out[n-1].Value += ";" + l.Value
			continue
		}
		out[n] = l
		n++
	}
	return out[:n]
}

func legacyLabelName(name string) bool {
	for i := range len(name) {
		if !legacyLabelByte(name[i], i) {
			return false
		}
	}
	return name != ""
}

func legacyLabelByte(c byte, i int) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && i > 0
}

// escapeLabelName puts an underscore for every character that is not allowed,
// and "key" before what would then be a reserved name.
func escapeLabelName(name string) string {
	if legacyLabelName(name) {
		return name
	}
	var b strings.Builder
	for i, c := range name { // by character, not by byte
		if c < 0x80 && legacyLabelByte(byte(c), i) {
			b.WriteByte(byte(c))
		} else {
			b.WriteByte('_')
		}
	}
	if escaped := b.String(); !strings.HasPrefix(escaped, model.ReservedLabelPrefix) {
		return escaped
	}
	return "key" + b.String()
}
