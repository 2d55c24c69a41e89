package remotewrite

import (
	"log/slog"

	"github.com/klauspost/compress/s2"
)

// reduce returns the rows that 1.0 can carry. The result lives until the next
// call.
func (s *Sender) reduce(rows []Row) []Row {
	n := 0
	for n < len(rows) && !rows[n].isNHCB() {
		n++
	}
	if n == len(rows) {
		return rows
	}
	s.less = append(s.less[:0], rows[:n]...)
	for i := n; i < len(rows); i++ {
		if !rows[i].isNHCB() {
			s.less = append(s.less, rows[i])
		}
	}
	return s.less
}

// encode makes s.body of rows and returns those that are in it: 1.0 cannot
// carry all.
func (s *Sender) encode(rows []Row, v2 bool) []Row {
	if !v2 {
		rows = s.reduce(rows)
	}
	if len(rows) == 0 {
		return nil
	}
	var raw []byte
	if v2 {
		raw = s.enc.messageV2(rows)
	} else {
		for i := range rows {
			if i > 0 && rows[i].Form == rows[i-1].Form {
				continue
			}
			if s.d.collisions.prepare(rows[i].Form, s.d.index) {
				s.d.metrics.collisions.Inc()
				s.d.log.write(doubtful, slog.LevelWarn, "remote write: series become one when their names are escaped for 1.0", slog.String("series", rows[i].Form.labels.String()))
			}
		}
		if s.d.o.ZeroSamples {
			s.d.zeros.mark(s.tenant, rows)
		}
		s.raw = s.enc.AppendV1(s.raw[:0], rows)
		raw = s.raw
	}
	if !s.body.idle() {
		s.body = &payload{}
	}
	dst := s.body.bytes[:cap(s.body.bytes)]
	s.body.bytes = s2.EncodeSnappy(dst, raw)
	if v2 {
		s.enc.reset()
	}
	return rows
}
