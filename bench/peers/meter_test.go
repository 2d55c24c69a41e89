package peers

import (
	"context"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// meter is a discarding backend that counts what is appended while on. Turned
// off, which is how it is timed, it hands out the discarding appenders
// themselves and costs nothing.
type meter struct {
	*storagetest.Discard
	on   bool
	made tally
}

func newMeter() *meter { return &meter{Discard: storagetest.NewDiscard()} }

// during returns what f appended.
func (m *meter) during(f func() error) (tally, error) {
	m.on, m.made = true, tally{}
	err := f()
	m.on = false
	return m.made, err
}

func (m *meter) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	a := m.Discard.AppenderV2(ctx)
	if !m.on {
		return a
	}
	return meterAppender{a, a.(storage.TargetAppender), m}
}

type meterAppender struct {
	promstorage.AppenderV2
	storage.TargetAppender
	meter *meter
}

func (a meterAppender) Append(ref promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	ref, err := a.AppenderV2.Append(ref, ls, st, t, v, h, fh, o)
	if err == nil {
		a.meter.made[ls.Get(model.MetricNameLabel)]++
	}
	return ref, err
}
