package promapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"
)

// maxPoints is the largest number of steps of a range query, as Prometheus has
// it: a week at a point a minute.
const maxPoints = 11_000

var errTruncated = errors.New("results truncated due to limit")

// queryData is the data of query and query_range.
type queryData struct {
	value parser.Value
	stats stats.QueryStats
}

func (a *API) query(r *http.Request) (answer, error) {
	at, err := timeParam(r, "time", a.o.Now())
	if err != nil {
		return answer{}, err
	}
	return a.run(r, func(ctx context.Context, opts promql.QueryOpts, q string) (promql.Query, error) {
		return a.engine.NewInstantQuery(ctx, a.o.Store, opts, q, at)
	})
}

func (a *API) queryRange(r *http.Request) (answer, error) {
	start, err := requiredTimeParam(r, "start")
	if err != nil {
		return answer{}, err
	}
	end, err := requiredTimeParam(r, "end")
	if err != nil {
		return answer{}, err
	}
	if end.Before(start) {
		return answer{}, invalid("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := parseDuration(r.Form.Get("step"))
	if err != nil {
		return answer{}, invalid("step", err)
	}
	if step <= 0 {
		return answer{}, invalid("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	}
	if end.Sub(start)/step > maxPoints {
		return answer{}, &apiError{badData, errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")}
	}
	return a.run(r, func(ctx context.Context, opts promql.QueryOpts, q string) (promql.Query, error) {
		return a.engine.NewRangeQuery(ctx, a.o.Store, opts, q, start, end, step)
	})
}

// run executes the query that build makes of the request's parameters.
func (a *API) run(r *http.Request, build func(context.Context, promql.QueryOpts, string) (promql.Query, error)) (answer, error) {
	limit, err := limitParam(r)
	if err != nil {
		return answer{}, err
	}
	ctx := r.Context()
	if s := r.Form.Get("timeout"); s != "" {
		d, err := parseDuration(s)
		if err != nil {
			return answer{}, invalid("timeout", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	var lookback time.Duration
	if s := r.Form.Get("lookback_delta"); s != "" {
		if lookback, err = parseDuration(s); err != nil {
			return answer{}, invalid("lookback_delta", err)
		}
	}
	wanted := r.Form.Get("stats")
	text := r.Form.Get("query")

	if _, err := a.parse(text); err != nil {
		return answer{}, invalid("query", err)
	}
	q, err := build(ctx, promql.NewPrometheusQueryOpts(false, lookback, nil), text)
	if err != nil {
		return answer{}, queryError(err)
	}
	ans := answer{query: text, done: q.Close}
	res := q.Exec(ctx)
	ans.notes = res.Warnings
	if res.Err != nil {
		return ans, res.Err
	}
	data := queryData{value: res.Value}
	if limit > 0 {
		var cut bool
		if data.value, cut = truncate(res.Value, limit); cut {
			ans.notes.Add(errTruncated)
		}
	}
	if wanted != "" {
		data.stats = stats.NewQueryStats(q.Stats())
	}
	ans.data = data
	return ans, nil
}

// queryError is the error of a query that was not begun.
func queryError(err error) error {
	if t := typeOf(err); t != execution {
		return &apiError{t, err}
	}
	return invalid("query", err)
}

func truncate(v parser.Value, limit int) (parser.Value, bool) {
	switch v := v.(type) {
	case promql.Vector:
		if len(v) > limit {
			return v[:limit:limit], true
		}
	case promql.Matrix:
		if len(v) > limit {
			return v[:limit:limit], true
		}
	}
	return v, false
}

func (a *API) formatQuery(r *http.Request) (answer, error) {
	expr, err := a.parse(r.Form.Get("query"))
	if err != nil {
		return answer{}, invalid("query", err)
	}
	return answer{data: expr.Pretty(0)}, nil
}

func (a *API) exemplars(r *http.Request) (answer, error) {
	start, end, err := rangeParams(r)
	if err != nil {
		return answer{}, err
	}
	expr, err := a.parse(r.Form.Get("query"))
	if err != nil {
		return answer{}, invalid("query", err)
	}
	selectors := parser.ExtractSelectors(expr)
	if len(selectors) == 0 {
		return answer{data: exemplarData{}}, nil
	}
	q, err := a.o.Store.ExemplarQuerier(r.Context())
	if err != nil {
		return answer{}, fmt.Errorf("exemplars: %w", err)
	}
	res, err := q.Select(start, end, selectors...)
	if err != nil {
		return answer{}, fmt.Errorf("exemplars: %w", err)
	}
	return answer{data: exemplarData(res)}, nil
}
