package remotewrite

import (
	"sync"

	"github.com/prometheus/prometheus/model/histogram"
)

// zeros decides where a destination of 1.0 gets a zero at a counter's start
// time. 1.0 has no start timestamps, so that without it the first value of a
// counter is no increase. A series gets one per start time, and only if that
// lies behind what was sent of the series before; of a series that was not sent
// before only if it began in this process's time: an earlier process may have
// sent samples after its start. It is safe for concurrent use.
type zeros struct {
	began int64 // ms
	table *Table

	mu   sync.Mutex
	seen map[zeroKey]zero
}

// zeroKey is a tenant's series, by its number.
type zeroKey struct {
	tenant string
	num    uint64
}

// zero is what was sent of a series: the start time that was dealt with, and the
// last sample's time.
type zero struct{ start, last int64 }

// mark notes which rows get a zero before them.
func (z *zeros) mark(tenant string, rows []Row) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for i := range rows {
		r := &rows[i]
		r.zero = false
		if r.ST == 0 || r.ST >= r.T || i > 0 && rows[i-1].Form == r.Form && rows[i-1].ST == r.ST || r.derived() {
			continue
		}
		was, known := z.seen[zeroKey{tenant, r.Form.num()}]
		if known {
			r.zero = r.ST != was.start && was.last < r.ST
		} else {
			r.zero = r.ST >= z.began
		}
	}
}

// sent notes rows that were accepted, or refused, as dealt with.
func (z *zeros) sent(tenant string, rows []Row) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.seen == nil {
		z.seen = map[zeroKey]zero{}
	}
	if len(z.seen) > 2*z.table.Len()+minCollect {
		for k := range z.seen {
			if s, _ := z.table.peek(k.num); s == nil {
				delete(z.seen, k)
			}
		}
	}
	for i := range rows {
		if r := &rows[i]; r.ST != 0 && !r.derived() {
			z.seen[zeroKey{tenant, r.Form.num()}] = zero{start: r.ST, last: r.T}
		}
	}
}

// appendZeroV1 appends the zero of a row, as a Sample or a Histogram of 1.0.
func appendZeroV1(dst []byte, r *Row) []byte {
	var start int
	switch {
	case r.FH != nil:
		dst, start = open(dst, 4)
		dst = appendFloatHistogram(dst, &histogram.FloatHistogram{Schema: r.FH.Schema, ZeroThreshold: r.FH.ZeroThreshold}, 0, r.ST)
	case r.H != nil:
		dst, start = open(dst, 4)
		dst = appendHistogram(dst, &histogram.Histogram{Schema: r.H.Schema, ZeroThreshold: r.H.ZeroThreshold}, nil, 0, r.ST)
	default:
		dst, start = open(dst, 2)
		dst = appendInt(dst, 2, r.ST)
	}
	return shut(dst, start)
}
