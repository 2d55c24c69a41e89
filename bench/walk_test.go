package bench

import "github.com/otlpgw/otlpgw/converter/otlp"

// walker reads requests as the converter does, and counts their points.
type walker struct {
	resource, scope, point otlp.Scratch

	number      otlp.Number
	histogram   otlp.Histogram
	exponential otlp.ExponentialHistogram
	summary     otlp.Summary

	points int
}

func (w *walker) walk(body []byte) error {
	resources, err := otlp.Request(body)
	for err == nil {
		b, ok := resources.Next()
		if !ok {
			return nil
		}
		err = w.resourceMetrics(b)
	}
	return err
}

func (w *walker) resourceMetrics(b []byte) *otlp.Error {
	rm, err := otlp.ParseResourceMetrics(b, &w.resource)
	for err == nil {
		b, ok := rm.Scopes.Next()
		if !ok {
			return nil
		}
		err = w.scopeMetrics(b)
	}
	return err
}

func (w *walker) scopeMetrics(b []byte) *otlp.Error {
	sm, err := otlp.ParseScopeMetrics(b, &w.scope)
	for err == nil {
		b, ok := sm.Metrics.Next()
		if !ok {
			return nil
		}
		err = w.metric(b)
	}
	return err
}

func (w *walker) metric(b []byte) *otlp.Error {
	var m otlp.Metric
	err := otlp.ParseMetric(b, &m)
	for err == nil {
		b, ok := m.Points.Next()
		if !ok {
			return nil
		}
		w.points++
		switch m.Type {
		case otlp.TypeHistogram:
			err = otlp.ParseHistogram(b, &w.histogram, &w.point)
		case otlp.TypeExponentialHistogram:
			err = otlp.ParseExponentialHistogram(b, &w.exponential, &w.point)
		case otlp.TypeSummary:
			err = otlp.ParseSummary(b, &w.summary, &w.point)
		default:
			err = otlp.ParseNumber(b, &w.number, &w.point)
		}
	}
	return err
}
