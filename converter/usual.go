package converter

import (
	"math"

	"github.com/otlpgw/otlpgw/converter/otlp"
)

// usual stages a point of the kind that nearly all are: it lies on the wire like
// those before it, has the attributes that are expected behind the last one's,
// and is newer than all that its series had, or older than what another request
// brought. Nothing of it is scanned, looked up or decoded but its values. It
// reports false for every other point, of which nothing was changed: those go
// the long way, by the function of their type, to the same end.
func (c *converter) usual(t *task, b []byte) bool {
	if c.held != t.sender.Target {
		return false
	}
	m := t.metric
	e := m.points.Next(t.last)
	if e == nil {
		return false
	}
	var p otlp.Reading
	g := e.Value.group
	if g == nil || g.Owner != c.held || m.native || m.reject != accepted || !m.frame.Read(b, e.Key(), &p) {
		return false
	}
	ms := int64(p.TimeNs / 1e6)
	if ms <= 0 || ms > c.newestMs || ms < c.oldestMs || !g.Whole() || !g.Open(ms, c.txn) {
		return false
	}
	if !g.Newer(ms) && (c.mayHaveStaged(g) || c.opts.Limits.RejectLate && ms < g.AckedMs()) {
		return false
	}
	from := len(c.values)
	counts := true
	if m.typ == otlp.TypeHistogram {
		if p.HasSum != e.Value.hasSum || string(p.Bounds) != e.Value.layout {
			return false
		}
		if _, reason := c.classicValues(p.Count, p.HasSum, p.Sum, p.Counts, p.Bounds); reason != accepted {
			c.values = c.values[:from]
			return false
		}
	} else {
		if p.Kind == otlp.NoValue {
			return false
		}
		c.values = append(c.values, math.Float64bits(numberOf(p.Kind, p.Bits)))
		counts = m.typ == otlp.TypeSum
	}
	st := m.startOf(p.StartNs, ms)
	if st != 0 {
		c.writers(t, g, st, ms, c.values[from], counts)
	}
	c.stage(t, g, &reading{st: st, ms: ms}, from, -1)
	c.hits++
	t.last = e
	if e.Used != c.epoch {
		e.Used = c.epoch
	}
	t.newest = max(t.newest, ms)
	return true
}
