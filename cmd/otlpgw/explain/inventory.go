package explain

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// inventory lists what of a payload has a name: its metrics and the keys of
// their attributes, in the order of first appearance.
type inventory struct {
	metrics []*metricKeys
	known   map[string]*metricKeys
	// resource holds the keys of all resources.
	resource keys
}

// metricKeys is one metric, in whatever scope and resource it appears.
type metricKeys struct {
	name, unit  string
	typ         otlp.Type
	temporality otlp.Temporality
	monotonic   bool
	metadata    [][]byte // the raw KeyValues, among them perhaps a type hint

	point, scope, resource keys
}

// keys are attribute keys, each once.
type keys []string

func (k *keys) add(key []byte) {
	// Others are no labels in any strategy, and would cost the point.
	if len(key) > 0 && utf8.Valid(key) && !slices.Contains(*k, string(key)) {
		*k = append(*k, string(key))
	}
}

func (k *keys) addAll(more keys) {
	for _, key := range more {
		k.add([]byte(key))
	}
}

func (k *keys) addList(l otlp.List) *otlp.Error {
	for {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		key, _, err := otlp.ParseKeyValue(b)
		if err != nil {
			return err
		}
		k.add(key)
	}
}

func (k *keys) addRun(run []byte) *otlp.Error {
	for a := otlp.EachOf(run); ; {
		key, _, ok, err := a.Next()
		if err != nil || !ok {
			return err
		}
		k.add(key)
	}
}

// takeInventory reads a payload in protobuf.
func takeInventory(body []byte) (*inventory, error) {
	v := &inventory{known: map[string]*metricKeys{}}
	if err := v.request(body); err != nil {
		return nil, errors.New(err.Error())
	}
	return v, nil
}

func (v *inventory) request(body []byte) *otlp.Error {
	resources, err := otlp.Request(body)
	if err != nil {
		return err
	}
	for {
		b, ok := resources.Next()
		if !ok {
			return nil
		}
		var s otlp.Scratch
		rm, err := otlp.ParseResourceMetrics(b, &s)
		if err != nil {
			return err
		}
		attributes, err := otlp.ParseResource(rm.Resource)
		if err != nil {
			return err
		}
		var resource keys
		if err := resource.addList(attributes); err != nil {
			return err
		}
		v.resource.addAll(resource)
		for {
			b, ok := rm.Scopes.Next()
			if !ok {
				break
			}
			if err := v.scope(resource, b); err != nil {
				return err
			}
		}
	}
}

func (v *inventory) scope(resource keys, b []byte) *otlp.Error {
	var s otlp.Scratch
	sm, err := otlp.ParseScopeMetrics(b, &s)
	if err != nil {
		return err
	}
	view, err := otlp.ParseScope(sm.Scope)
	if err != nil {
		return err
	}
	var scope keys
	if err := scope.addList(view.Attributes); err != nil {
		return err
	}
	for {
		b, ok := sm.Metrics.Next()
		if !ok {
			return nil
		}
		var m otlp.Metric
		if err := otlp.ParseMetric(b, &m); err != nil {
			return err
		}
		if m.Points.Len() == 0 {
			continue
		}
		k := v.metric(&m)
		k.resource.addAll(resource)
		k.scope.addAll(scope)
		for {
			b, ok := m.Points.Next()
			if !ok {
				break
			}
			if err := k.addPoint(b); err != nil {
				return err
			}
		}
	}
}

// metric returns the entry of a metric. What is in the key decides the names.
func (v *inventory) metric(m *otlp.Metric) *metricKeys {
	k := &metricKeys{
		name: string(m.Name), unit: string(m.Unit),
		typ: m.Type, temporality: m.Temporality, monotonic: m.Monotonic,
	}
	id := k.name + "\x00" + k.unit + "\x00" + string([]byte{byte(k.typ), byte(k.temporality)})
	if k.monotonic {
		id += "m"
	}
	for l := m.Metadata; ; {
		b, ok := l.Next()
		if !ok {
			break
		}
		k.metadata = append(k.metadata, b)
		id += "\x00" + string(b)
	}
	if known := v.known[id]; known != nil {
		return known
	}
	v.known[id] = k
	v.metrics = append(v.metrics, k)
	return k
}

func (k *metricKeys) addPoint(b []byte) *otlp.Error {
	var s otlp.Scratch
	var p *otlp.Point
	var err *otlp.Error
	switch k.typ {
	case otlp.TypeGauge, otlp.TypeSum:
		var n otlp.Number
		err, p = otlp.ParseNumber(b, &n, &s), &n.Point
	case otlp.TypeHistogram:
		var h otlp.Histogram
		err, p = otlp.ParseHistogram(b, &h, &s), &h.Point
	case otlp.TypeExponentialHistogram:
		var h otlp.ExponentialHistogram
		err, p = otlp.ParseExponentialHistogram(b, &h, &s), &h.Point
	case otlp.TypeSummary:
		var q otlp.Summary
		err, p = otlp.ParseSummary(b, &q, &s), &q.Point
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return k.point.addRun(p.Attributes)
}
