package converter

import (
	"log/slog"
	"strings"
	"sync/atomic"
)

// tellRejectedMs is how often the log says that points are rejected for one
// reason: a sender repeats itself with every export.
const tellRejectedMs = 60 * 1000

// rejectLog tells the operator what clients are told: few of them log it. It is
// safe for concurrent use.
type rejectLog struct {
	logger *slog.Logger
	by     [reasons]struct {
		points atomic.Int64 // since the last line
		next   atomic.Int64 // when there may be another, in ms
	}
}

// tell logs what r rejects, at most a line per reason and interval.
func (l *rejectLog) tell(r *report, tenant string, nowMs int64) {
	for reason := accepted + 1; reason < reasons; reason++ {
		n := r.rejected[reason]
		if n == 0 {
			continue
		}
		by := &l.by[reason]
		by.points.Add(int64(n))
		if next := by.next.Load(); nowMs < next || !by.next.CompareAndSwap(next, nowMs+tellRejectedMs) {
			continue
		}
		why := reasonText[reason].text
		if d := r.details[reason]; d != "" {
			why += ": " + excerpt(d)
		}
		attrs := []any{"reason", reason.String(), "points", by.points.Swap(0), "metrics", strings.Join(r.names[reason], " "), "why", why}
		if tenant != "" {
			attrs = append(attrs, "tenant", tenant)
		}
		l.logger.Warn("data points were rejected", attrs...)
	}
}
