package converter

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// findScope returns the scope of a sender, made on first sight. The sender's
// target is held.
func (c *converter) findScope(s *series.Sender[*sender], sm *otlp.ScopeMetrics) (*scope, *otlp.Error) {
	c.hold(s.Target)
	c.key = append(appendField(c.key[:0], sm.SchemaURL), sm.Scope...)
	raw := c.key
	index := &s.State.scopes
	if e := index.Get(raw, nil); e != nil {
		e.Used = c.epoch
		return e.Value, nil
	}
	view, err := otlp.ParseScope(sm.Scope)
	if err != nil {
		return nil, err
	}
	c.canonical = appendField(appendField(appendField(c.canonical[:0], view.Name), view.Version), sm.SchemaURL)
	if err := c.canonicalize(view.Attributes); err != nil {
		return nil, err
	}
	if c.crowdedAttributes {
		return &scope{reject: ReasonLimit}, nil
	}
	d := series.DigestOf(c.canonical)
	e := index.Find(raw, d, s.State.room())
	if e == nil {
		sc := c.newScope(&view, sm.SchemaURL)
		e, sc.kept = index.Add(raw, d, sc, scopeCost+sizeOf(sc.labels), s.State.room())
	}
	e.Used = c.epoch
	return e.Value, nil
}

// newScope makes the labels of a scope.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Instrumentation Scope".
func (c *converter) newScope(in *otlp.Scope, schemaURL []byte) *scope {
	sc := &scope{}
	if c.opts.Labels.DisableScopeMetadata {
		return sc
	}
	const prefix = "otel_scope_"
	own := []struct {
		name  string
		value []byte
	}{{prefix + "name", in.Name}, {prefix + "version", in.Version}, {prefix + "schema_url", schemaURL}}
	lb := &c.labels
	lb.begin()
	for l := in.Attributes; ; {
		b, ok := l.Next()
		if !ok {
			break
		}
		// Its frames were checked by canonicalize.
		key, v, _ := otlp.ParseKeyValue(b)
		if len(key) == 0 || !lb.add(prefix, key, v) {
			sc.reject = ReasonLabel
		}
	}
	// Attributes named like one of the scope's own labels are dropped.
	lb.list = slices.DeleteFunc(lb.list, func(a attribute) bool {
		for _, o := range own {
			if a.name == o.name {
				c.opts.warn(warnScope, excerpt(a.key))
				return true
			}
		}
		return false
	})
	for _, o := range own {
		if !utf8.Valid(o.value) {
			sc.reject = ReasonLabel
			continue
		}
		lb.set(o.name, view(o.value))
	}
	lb.merge()
	sc.labels = copyAttributes(lb.list)
	return sc
}

// findMetric returns the metric of a scope, made on first sight. It is the one
// that came behind last the last time, or is looked up.
func (c *converter) findMetric(s *sender, sc *scope, view *otlp.Metric, last **series.Entry[*metric]) (*metric, *otlp.Error) {
	hint, err := typeHint(view.Metadata)
	if err != nil {
		return nil, err
	}
	if e := sc.metrics.Next(*last); e != nil && e.Value.is(view, hint) {
		*last = e
		return c.metricHit(e, view), nil
	}
	flags := byte(view.Temporality) << 1
	if view.Monotonic {
		flags |= 1
	}
	c.key = append(c.key[:0], byte(view.Type), flags)
	c.key = appendField(appendField(c.key, view.Name), view.Unit)
	c.key = append(c.key, hint...)
	if e := sc.metrics.Get(c.key, *last); e != nil {
		*last = e
		return c.metricHit(e, view), nil
	}
	m := c.newMetric(view, hint)
	if m.reject == accepted {
		m.reject = max(s.reject, sc.reject)
	}
	if m.reject == accepted && !c.opts.families.enter(c.tenant.Name, m) {
		c.conflict(conflictType, s, subject{name: m.name}, string(view.Name), true)
	}
	e, kept := sc.metrics.Add(c.key, series.DigestOf(c.key), m, metricCost+len(m.name)+len(m.meta.Help)+len(m.meta.Unit), s.roomIf(sc.kept))
	e.Used, m.kept = c.epoch, kept
	if kept {
		m.identify(e.Key(), view, hint)
		sc.metrics.Follow(*last, e)
		*last = e
	} else if m.reject == accepted {
		c.opts.families.leave(c.tenant.Name, m)
	}
	return m, nil
}

// metricHit notes the use of a metric that is known.
func (c *converter) metricHit(e *series.Entry[*metric], view *otlp.Metric) *metric {
	m := e.Value
	if e.Used != c.epoch {
		e.Used = c.epoch
	}
	if m.reject == accepted && m.meta.Help != string(view.Description) {
		c.opts.warn(warnHelp, m.name)
	}
	return m
}

// identify notes what the metric is on the wire, as parts of its key.
func (m *metric) identify(key string, view *otlp.Metric, hint []byte) {
	if key == "" {
		return // Longer than what is known by raw bytes.
	}
	tail := len(key) - len(hint)
	m.wire.hint = key[tail:]
	m.wire.unit = key[tail-len(view.Unit) : tail]
	m.wire.name = string(view.Name)
	m.wire.temporality, m.wire.monotonic = view.Temporality, view.Monotonic
	m.wire.known = true
}

// is reports whether the metric is the one on the wire.
func (m *metric) is(view *otlp.Metric, hint []byte) bool {
	w := &m.wire
	return w.known && m.typ == view.Type && w.temporality == view.Temporality && w.monotonic == view.Monotonic &&
		w.name == string(view.Name) && w.unit == string(view.Unit) && w.hint == string(hint)
}

// typeHint returns the value of the metadata prometheus.type, or nothing.
func typeHint(metadata otlp.List) (hint []byte, err *otlp.Error) {
	for metadata.Len() > 0 {
		b, ok := metadata.Next()
		if !ok {
			break
		}
		key, v, err := otlp.ParseKeyValue(b)
		if err != nil {
			return nil, err
		}
		if v.Kind == otlp.StringKind && bytes.Equal(key, []byte("prometheus.type")) {
			hint = v.Bytes
		}
	}
	return hint, nil
}

// newMetric names a metric.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "OTLP Metric points to
// Prometheus", sections on metadata and on each type.
func (c *converter) newMetric(in *otlp.Metric, hint []byte) *metric {
	m := &metric{typ: in.Type}
	named := otlptranslator.Metric{Name: strings.Clone(view(in.Name)), Unit: view(in.Unit)}
	switch in.Type {
	case otlp.TypeGauge:
		named.Type, m.meta.Type = otlptranslator.MetricTypeGauge, gaugeType(hint)
	case otlp.TypeSum:
		named.Type, m.meta.Type = otlptranslator.MetricTypeNonMonotonicCounter, gaugeType(hint)
		if in.Monotonic {
			named.Type, m.meta.Type = otlptranslator.MetricTypeMonotonicCounter, model.MetricTypeCounter
			m.start = true
		}
	case otlp.TypeHistogram:
		named.Type, m.meta.Type = otlptranslator.MetricTypeHistogram, model.MetricTypeHistogram
		m.start, m.native = true, c.opts.NHCB
	case otlp.TypeExponentialHistogram:
		named.Type, m.meta.Type = otlptranslator.MetricTypeExponentialHistogram, model.MetricTypeHistogram
		m.start = true
	case otlp.TypeSummary:
		named.Type, m.meta.Type = otlptranslator.MetricTypeSummary, model.MetricTypeSummary
		m.start = true
	}
	switch in.Type {
	case otlp.TypeSum, otlp.TypeHistogram, otlp.TypeExponentialHistogram:
		if in.Temporality != otlp.Cumulative {
			m.reject = ReasonTemporality
			return m
		}
	}
	name, err := c.namer.Build(named)
	if err != nil || !c.ownName(in.Name) || !utf8.Valid(in.Name) || !utf8.Valid(in.Unit) ||
		len(name) > maxLabelText-len("_bucket") {
		m.reject = ReasonName
		return m
	}
	m.name = strings.Clone(name)
	m.meta = metadata.Metadata{
		Type: m.meta.Type,
		Unit: strings.Clone(c.unitNamer.Build(named.Unit)),
		Help: strings.ToValidUTF8(string(in.Description), "\uFFFD"),
	}
	return m
}

// ownName reports whether a name keeps something of the sender's own after
// translation: a letter, a digit or a colon when it is escaped, anything when
// it is not. Two metrics of which nothing is left must not become one.
func (c *converter) ownName(name []byte) bool {
	if !c.opts.escape {
		return len(name) > 0
	}
	for _, b := range name {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == ':' {
			return true
		}
	}
	return false
}

// gaugeType maps the hint that a Prometheus receiver left in a metric's
// metadata.
func gaugeType(hint []byte) model.MetricType {
	switch string(hint) {
	case "unknown":
		return model.MetricTypeUnknown
	case "info":
		return model.MetricTypeInfo
	case "stateset":
		return model.MetricTypeStateset
	}
	return model.MetricTypeGauge
}

// canonicalAttribute is an attribute on its way into a canonical key.
type canonicalAttribute struct {
	key   []byte
	value otlp.Value
}

// canonicalize appends the meaning of attributes to c.canonical: sorted by key,
// values by kind and text, so that no spelling on the wire matters.
func (c *converter) canonicalize(l otlp.List) *otlp.Error {
	c.beginSorting()
	for {
		b, ok := l.Next()
		if !ok {
			break
		}
		key, v, err := otlp.ParseKeyValue(b)
		if err != nil {
			return err
		}
		c.sort(key, v)
	}
	c.appendSorted()
	return nil
}

// canonicalizeRun is canonicalize for a raw run of attributes.
func (c *converter) canonicalizeRun(run []byte) *otlp.Error {
	c.beginSorting()
	for a := otlp.EachOf(run); ; {
		key, v, ok, err := a.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		c.sort(key, v)
	}
	c.appendSorted()
	return nil
}

func (c *converter) beginSorting() {
	clear(c.sorting)
	c.sorting, c.crowdedAttributes = c.sorting[:0], false
}

// sort takes an attribute into c.sorting, or notes that there are too many.
func (c *converter) sort(key []byte, v otlp.Value) {
	if len(c.sorting) >= maxAttributes || v.Members > maxAttributes {
		c.crowdedAttributes = true
		return
	}
	c.sorting = append(c.sorting, canonicalAttribute{key, v})
}

func (c *converter) appendSorted() {
	byKey := func(a, b canonicalAttribute) int { return bytes.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(c.sorting, byKey) {
		slices.SortStableFunc(c.sorting, byKey)
	}
	for _, a := range c.sorting {
		c.canonical = appendField(c.canonical, a.key)
		c.canonical = append(c.canonical, byte(a.value.Kind))
		c.labels.text = a.value.AppendText(c.labels.text[:0])
		c.canonical = appendField(c.canonical, c.labels.text)
	}
}

// copyAttributes returns attributes that own their strings.
func copyAttributes(list []attribute) []attribute {
	out := make([]attribute, len(list))
	for i, a := range list {
		out[i] = attribute{strings.Clone(a.name), strings.Clone(a.value), strings.Clone(a.key)}
	}
	return out
}

// sizeOf returns what attributes cost that were copied, in bytes.
func sizeOf(list []attribute) (n int) {
	for _, a := range list {
		n += 48 + len(a.name) + len(a.value) + len(a.key)
	}
	return n
}
