package remotewrite

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

var errNoMetricName = errors.New("a histogram without a metric name cannot become classic series")

// classic is the series that a histogram with custom buckets becomes.
type classic struct {
	bounds     []float64
	buckets    []*Form // one per bound, then +Inf
	count, sum *Form
}

// classicScratch is reused from row to row.
type classicScratch struct {
	counts    []float64
	exemplars []exemplar.Exemplar
}

// appendClassic appends the classic series of the row, which has custom
// buckets. Bounds are printed as the converter prints le by default.
func (c *classicScratch) appendClassic(dst []Row, r Row) ([]Row, error) {
	stale, bounds := false, []float64(nil)
	if r.FH != nil {
		stale, bounds = value.IsStaleNaN(r.FH.Sum), r.FH.CustomValues
	} else {
		stale, bounds = value.IsStaleNaN(r.H.Sum), r.H.CustomValues
	}
	if last := r.Form.lastClassic(); stale && len(bounds) == 0 && last != nil {
		bounds = last.bounds // a marker ends every bucket that was sent
	}
	series, err := r.Form.classicSeries(bounds)
	if err != nil {
		return dst, err
	}

	var count, sum float64
	if stale {
		count = math.Float64frombits(value.StaleNaN)
		sum = count
		c.counts = c.counts[:0]
		for range series.buckets {
			c.counts = append(c.counts, count)
		}
	} else if c.counts, count, sum, err = bucketCounts(r, c.counts); err != nil {
		return dst, err
	}

	made := make([]Sample, len(series.buckets)+2)
	add := func(i int, form *Form, v float64, exemplars []exemplar.Exemplar) {
		made[i] = Sample{Series: r.Series, Meta: r.Meta, N: r.N, T: r.T, ST: r.ST, V: v, Exemplars: exemplars}
		dst = append(dst, Row{Sample: &made[i], Form: form, unit: r.unit})
	}
	for i, form := range series.buckets {
		add(i, form, c.counts[i], c.within(r.Exemplars, series.bounds, i))
	}
	add(len(series.buckets), series.count, count, nil)
	add(len(series.buckets)+1, series.sum, sum, nil)
	return dst, nil
}

// lastClassic returns the classic series that the form last became, or nil.
func (f *Form) lastClassic() *classic {
	if x := f.extra.Load(); x != nil {
		return x.classic
	}
	return nil
}

func bucketCounts(r Row, buf []float64) ([]float64, float64, float64, error) {
	if r.FH != nil {
		return histogram.ClassicBucketCounts(r.FH, buf)
	}
	return histogram.ClassicBucketCounts(r.H, buf)
}

// within returns the exemplars of bucket i, whose upper bound is inclusive. The
// result is cut closed from scratch and lives until the next reset.
func (c *classicScratch) within(all []exemplar.Exemplar, bounds []float64, i int) []exemplar.Exemplar {
	start := len(c.exemplars)
	for _, e := range all {
		if (i == 0 || !(e.Value <= bounds[i-1])) && (i == len(bounds) || e.Value <= bounds[i]) {
			c.exemplars = append(c.exemplars, e)
		}
	}
	n := len(c.exemplars)
	return c.exemplars[start:n:n]
}

func (c *classicScratch) reset() {
	clear(c.exemplars[:cap(c.exemplars)])
	c.exemplars = c.exemplars[:0]
}

// classicSeries returns the forms for bounds, from memory when they are those
// of the last call.
func (f *Form) classicSeries(bounds []float64) (*classic, error) {
	if c := f.lastClassic(); c != nil && slices.Equal(c.bounds, bounds) {
		return c, nil
	}
	name := f.labels.Get(model.MetricNameLabel)
	if name == "" {
		return nil, errNoMetricName
	}
	b := labels.NewBuilder(f.labels)
	derive := func(name, le string) *Form {
		b.Reset(f.labels)
		b.Set(model.MetricNameLabel, name)
		if le != "" {
			b.Set(model.BucketLabel, le)
		}
		form := &Form{labels: b.Labels(), a: f.num()}
		if f.template != nil {
			f.template.dict.describe(form, f.num())
		}
		return form
	}
	c := &classic{bounds: slices.Clone(bounds)}
	for _, bound := range bounds {
		c.buckets = append(c.buckets, derive(name+"_bucket", strconv.FormatFloat(bound, 'g', -1, 64)))
	}
	c.buckets = append(c.buckets, derive(name+"_bucket", "+Inf"))
	c.count, c.sum = derive(name+"_count", ""), derive(name+"_sum", "")
	f.update(func(x *extra) { x.classic = c })
	return c, nil
}
