package converter

import (
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/otlpgw/otlpgw/converter/series"
)

// targetInfo stages one sample of target_info for a resource, at the time of
// its newest accepted point, unless one at that time or later was acknowledged
// or is on its way.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Resource Attributes".
func (c *converter) targetInfo(s *series.Sender[*sender], newestMs int64) {
	st := s.State
	if st.info.IsEmpty() {
		return
	}
	c.hold(s.Target)
	records := st.infoRecord
	if len(records) == 0 {
		r, kept := st.tenant.Records.Hold(st.info, s.Target, st.room())
		if !kept {
			r = c.looseRecord(r)
		}
		records = []*series.Record{r}
		if kept {
			st.infoRecord = records
		}
	}
	r := records[0]
	c.hold(r.Owner)
	if newestMs <= r.AckedMs() || newestMs < r.OfferedMs() {
		return
	}
	bits := math.Float64bits(1)
	if c.judge(r, newestMs, bits) == series.Fresh {
		c.values = append(c.values, bits)
		c.stage(staged{records: records, family: &c.opts.infoFamily, ms: newestMs, exemplars: -1})
	}
}

// infoFamily describes target_info.
func infoFamily(name string) family {
	return family{name: name, meta: metadata.Metadata{Type: model.MetricTypeGauge, Help: "Target metadata"}}
}
