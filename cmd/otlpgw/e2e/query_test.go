package e2e

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	apiv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// store answers queries: the gateway's API, or a receiver in this process. The
// answers are text, one series a line, sorted.
type store interface {
	query(t *testing.T, q string) []string
	exemplars(t *testing.T, q string) []string
}

// apiStore asks over HTTP, with Prometheus's own client.
type apiStore struct{ address string }

func (s apiStore) client(t *testing.T) apiv1.API {
	t.Helper()
	c, err := api.NewClient(api.Config{Address: "http://" + s.address})
	require.NoError(t, err)
	return apiv1.NewAPI(c)
}

func (s apiStore) query(t *testing.T, q string) []string {
	t.Helper()
	v, warnings, _, err := s.client(t).Query(t.Context(), q, time.Now())
	require.NoError(t, err)
	require.Empty(t, warnings)
	var out []string
	for _, x := range v.(model.Vector) {
		b := labels.NewScratchBuilder(len(x.Metric))
		for k, v := range x.Metric {
			b.Add(string(k), string(v))
		}
		b.Sort()
		if x.Histogram == nil {
			out = append(out, line(b.Labels(), number(float64(x.Value))))
			continue
		}
		h := histogram(float64(x.Histogram.Count), float64(x.Histogram.Sum))
		for _, bu := range x.Histogram.Buckets {
			h += bucket(float64(bu.Lower), float64(bu.Upper), float64(bu.Count))
		}
		out = append(out, line(b.Labels(), h))
	}
	slices.Sort(out)
	return out
}

func (s apiStore) exemplars(t *testing.T, q string) []string {
	t.Helper()
	res, err := s.client(t).QueryExemplars(t.Context(), q, time.Now().Add(-time.Hour), time.Now().Add(time.Minute))
	require.NoError(t, err)
	var out []string
	for _, r := range res {
		for _, e := range r.Exemplars {
			out = append(out, fmt.Sprintf("%s %s %s", r.SeriesLabels[model.MetricNameLabel], e.Labels, number(float64(e.Value))))
		}
	}
	slices.Sort(out)
	return out
}

// queryable is what a receiver's database offers.
type queryable interface {
	promstorage.Queryable
	promstorage.ExemplarQueryable
}

// engineStore asks a database in this process.
type engineStore struct {
	db     queryable
	engine *promql.Engine
}

func newEngineStore(t *testing.T, db queryable) engineStore {
	e := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: patience, Parser: parser.NewParser(parser.Options{}),
	})
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return engineStore{db: db, engine: e}
}

func (s engineStore) query(t *testing.T, q string) []string {
	t.Helper()
	pq, err := s.engine.NewInstantQuery(t.Context(), s.db, nil, q, time.Now())
	require.NoError(t, err)
	defer pq.Close()
	v, err := pq.Exec(t.Context()).Vector()
	require.NoError(t, err)
	var out []string
	for _, x := range v {
		if x.H == nil {
			out = append(out, line(x.Metric, number(x.F)))
			continue
		}
		h := histogram(x.H.Count, x.H.Sum)
		for it := x.H.AllBucketIterator(); it.Next(); {
			if b := it.At(); b.Count > 0 {
				h += bucket(b.Lower, b.Upper, b.Count)
			}
		}
		out = append(out, line(x.Metric, h))
	}
	slices.Sort(out)
	return out
}

func (s engineStore) exemplars(t *testing.T, q string) []string {
	t.Helper()
	eq, err := s.db.ExemplarQuerier(context.Background())
	require.NoError(t, err)
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q)
	require.NoError(t, err)
	res, err := eq.Select(time.Now().Add(-time.Hour).UnixMilli(), time.Now().Add(time.Minute).UnixMilli(), parser.ExtractSelectors(expr)...)
	require.NoError(t, err)
	var out []string
	for _, r := range res {
		for _, e := range r.Exemplars {
			out = append(out, fmt.Sprintf("%s %s %s", r.SeriesLabels.Get(model.MetricNameLabel), e.Labels, number(e.Value)))
		}
	}
	slices.Sort(out)
	return out
}

func line(ls labels.Labels, value string) string {
	var b strings.Builder
	b.WriteString(ls.Get(model.MetricNameLabel))
	ls.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			fmt.Fprintf(&b, " %s=%q", l.Name, l.Value)
		}
	})
	return b.String() + " " + value
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func histogram(count, sum float64) string {
	return "count:" + number(count) + " sum:" + number(sum)
}

// bucket rounds the bounds, which are powers of an irrational base.
func bucket(lower, upper, count float64) string {
	round := func(f float64) string { return number(math.Round(f*1e6) / 1e6) }
	return fmt.Sprintf(" (%s,%s]:%s", round(lower), round(upper), number(count))
}
