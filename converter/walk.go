package converter

import (
	"encoding/binary"
	"fmt"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// walk reads the whole request and stages its samples. Only a torn frame ends
// it; everything else costs the point it concerns.
func (c *converter) walk() *otlp.Error {
	resources, err := otlp.Request(c.body)
	if err != nil {
		return err
	}
	for {
		b, ok := resources.Next()
		if !ok {
			return nil
		}
		rm, err := otlp.ParseResourceMetrics(b, &c.resourceScratch)
		if err != nil {
			return err
		}
		if err := c.resource(&rm); err != nil {
			return err
		}
		c.unhold()
	}
}

// resource stages the points of one ResourceMetrics.
func (c *converter) resource(rm *otlp.ResourceMetrics) *otlp.Error {
	s, err := c.sender(rm.Resource)
	if err != nil {
		return err
	}
	return c.scopes(s, rm)
}

// scopes stages the points of a resource whose sender was found.
func (c *converter) scopes(s *series.Sender[*sender], rm *otlp.ResourceMetrics) *otlp.Error {
	newest := int64(0)
	for {
		b, ok := rm.Scopes.Next()
		if !ok {
			break
		}
		if err := c.scope(s, b, &newest); err != nil {
			return err
		}
	}
	if newest > 0 {
		c.targetInfo(s, newest)
	}
	return nil
}

// scope stages the points of one ScopeMetrics.
func (c *converter) scope(s *series.Sender[*sender], b []byte, newest *int64) *otlp.Error {
	sm, err := otlp.ParseScopeMetrics(b, &c.scopeScratch)
	if err != nil {
		return err
	}
	sc, err := c.findScope(s, &sm)
	if err != nil {
		return err
	}
	var last *series.Entry[*metric]
	m := new(otlp.Metric)
	for {
		b, ok := sm.Metrics.Next()
		if !ok {
			return nil
		}
		if err := otlp.ParseMetric(b, m); err != nil {
			return err
		}
		if m.Points.Len() == 0 {
			// An empty envelope, legal and ignored (metrics.proto).
			if err := otlp.CheckKeyValues(m.Metadata); err != nil {
				return err
			}
			continue
		}
		if err := c.points(s, sc, m, &last, newest); err != nil {
			return err
		}
	}
}

// points stages the points of one metric.
func (c *converter) points(s *series.Sender[*sender], sc *scope, view *otlp.Metric, last **series.Entry[*metric], newest *int64) *otlp.Error {
	// A look-up of a foreign series may have left another target locked.
	c.hold(s.Target)
	m, err := c.findMetric(s.State, sc, view, last)
	if err != nil {
		return err
	}
	t := &task{sender: s, scope: sc, metric: m}
	for {
		b, ok := view.Points.Next()
		if !ok {
			break
		}
		c.report.points++
		if c.usual(t, b) {
			continue
		}
		c.hold(s.Target) // The point before may have left another one locked.
		if c.detail != "" {
			c.detail = ""
		}
		var reason Reason
		switch m.typ {
		case otlp.TypeGauge, otlp.TypeSum:
			reason, err = c.numberPoint(t, b)
		case otlp.TypeHistogram:
			reason, err = c.histogramPoint(t, b)
		case otlp.TypeExponentialHistogram:
			reason, err = c.exponentialPoint(t, b)
		case otlp.TypeSummary:
			reason, err = c.summaryPoint(t, b)
		}
		if err != nil {
			return err
		}
		if reason != accepted {
			c.reject(reason, view.Name)
		}
	}
	*newest = max(*newest, t.newest)
	return nil
}

// task is one metric whose points are being staged.
type task struct {
	sender *series.Sender[*sender]
	scope  *scope
	metric *metric
	newest int64 // ms of the newest accepted point
	// last is the point that was found last, behind which the next one stands.
	last *series.Entry[point]
}

// admit makes the checks that every point has to pass, before its series are
// looked up. It returns the point's times in milliseconds.
func (c *converter) admit(m *metric, p *otlp.Point) (startMs, ms int64, reason Reason) {
	ms = int64(p.TimeNs / 1e6)
	switch {
	case m.reject != accepted:
		switch m.reject {
		case ReasonLimit:
			c.detail = crowdedText
		case ReasonTenant:
			c.detail = c.denial
		}
		return 0, 0, m.reject
	case p.TimeNs == 0:
		return 0, 0, ReasonNoTime
	case ms > c.newestMs:
		c.explain(ReasonTooNew, "%d ms ahead of the gateway's clock, limits.max_future is %s", ms-c.nowMs, c.opts.Limits.MaxFuture)
		return 0, 0, ReasonTooNew
	case ms < c.oldestMs:
		c.explain(ReasonTooOld, "%d ms old, limits.max_sample_age is %s", c.nowMs-ms, c.opts.Limits.MaxSampleAge)
		return 0, 0, ReasonTooOld
	}
	return m.startOf(p.StartNs, ms), ms, accepted
}

// startOf returns the start timestamp of a point at ms, 0 for none. A start that
// is not before the point says that it is unknown (data model, "Cumulative
// streams: handling unknown start time").
func (m *metric) startOf(startNs uint64, ms int64) int64 {
	if startMs := int64(startNs / 1e6); m.start && startMs < ms {
		return startMs
	}
	return 0
}

// reject counts the point at hand as rejected.
func (c *converter) reject(reason Reason, metric []byte) {
	c.report.reject(reason, metric, c.detail)
	if c.opts.OnVerdict != nil {
		text := reasonText[reason].text
		if c.detail != "" {
			text += ": " + c.detail
		}
		c.opts.OnVerdict(Verdict{Rejected: true, Reason: reason.String(), Metric: string(metric), Detail: text})
	}
}

// explain says more about why the point at hand is rejected, if anybody will
// read it: a request may hold a million of them.
func (c *converter) explain(reason Reason, format string, args ...any) {
	if c.report.details[reason] == "" || c.opts.OnVerdict != nil {
		c.detail = fmt.Sprintf(format, args...)
	}
}

// refuse checks the frames of a rejected point that nobody has read, since a
// torn one ends the request, and passes the reason on.
func (c *converter) refuse(p *otlp.Point, reason Reason) (Reason, *otlp.Error) {
	return reason, otlp.CheckRest(p)
}

// appendField appends bytes with their length, so that fields behind one
// another cannot be read in two ways.
func appendField(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}
