package promapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// contextEvery is how many series are read between looks at the context.
const contextEvery = 128

// selection is what series, labels and label values have in common.
type selection struct {
	start, end int64 // ms
	limit      int
	matchers   [][]*labels.Matcher
}

func (a *API) selection(r *http.Request) (s selection, err error) {
	if s.limit, err = limitParam(r); err != nil {
		return s, err
	}
	if s.start, s.end, err = rangeParams(r); err != nil {
		return s, err
	}
	s.matchers, err = a.matchParam(r)
	return s, err
}

func (a *API) series(r *http.Request) (answer, error) {
	s, err := a.selection(r)
	if err != nil {
		return answer{}, err
	}
	if len(s.matchers) == 0 {
		return answer{}, &apiError{badData, errors.New("no match[] parameter provided")}
	}
	q, err := a.o.Store.Querier(s.start, s.end)
	if err != nil {
		return answer{}, err
	}
	// Labels may lie in the store's files until they are written out.
	ans := answer{done: func() { q.Close() }}

	// The function's name tells the store that samples are not needed.
	hints := &promstorage.SelectHints{Start: s.start, End: s.end, Func: "series", Limit: oneMore(s.limit)}
	sets := make([]promstorage.SeriesSet, len(s.matchers))
	for i, m := range s.matchers {
		sets[i] = q.Select(r.Context(), len(s.matchers) > 1, hints, m...)
	}
	set := sets[0]
	if len(sets) > 1 {
		set = promstorage.NewMergeSeriesSet(sets, 0, promstorage.ChainedSeriesMerge)
	}

	found := []labels.Labels{}
	for set.Next() {
		if len(found)%contextEvery == 0 && r.Context().Err() != nil {
			return ans, r.Context().Err()
		}
		if s.limit > 0 && len(found) == s.limit {
			ans.notes.Add(errTruncated)
			break
		}
		found = append(found, set.At().Labels())
	}
	ans.notes.Merge(set.Warnings())
	ans.data = seriesData(found)
	return ans, set.Err()
}

func (a *API) labelNames(r *http.Request) (answer, error) {
	return a.values(r, func(ctx context.Context, q promstorage.Querier, h *promstorage.LabelHints, ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(ctx, h, ms...)
	})
}

func (a *API) labelValues(r *http.Request) (answer, error) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return answer{}, &apiError{badData, fmt.Errorf("invalid label name: %q", name)}
	}
	return a.values(r, func(ctx context.Context, q promstorage.Querier, h *promstorage.LabelHints, ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(ctx, name, h, ms...)
	})
}

// values returns the sorted union of what get finds for each selector.
func (a *API) values(r *http.Request, get func(context.Context, promstorage.Querier, *promstorage.LabelHints, []*labels.Matcher) ([]string, annotations.Annotations, error)) (answer, error) {
	s, err := a.selection(r)
	if err != nil {
		return answer{}, err
	}
	q, err := a.o.Store.Querier(s.start, s.end)
	if err != nil {
		return answer{}, err
	}
	ans := answer{done: func() { q.Close() }}
	if len(s.matchers) == 0 {
		s.matchers = [][]*labels.Matcher{nil}
	}
	union := map[string]struct{}{}
	hints := &promstorage.LabelHints{Limit: oneMore(s.limit)}
	for _, ms := range s.matchers {
		vals, notes, err := get(r.Context(), q, hints, ms)
		if err != nil {
			return ans, err
		}
		ans.notes.Merge(notes)
		for _, v := range vals {
			union[v] = struct{}{}
		}
	}
	vals := slices.AppendSeq(make([]string, 0, len(union)), maps.Keys(union))
	slices.Sort(vals)
	if s.limit > 0 && len(vals) > s.limit {
		vals = vals[:s.limit]
		ans.notes.Add(errTruncated)
	}
	ans.data = vals
	return ans, nil
}

// metadataEntry is one of metadata's answers for a family.
type metadataEntry struct {
	Type model.MetricType `json:"type"`
	Unit string           `json:"unit"`
	Help string           `json:"help"`
}

func (a *API) metadata(r *http.Request) (answer, error) {
	limits := map[string]int{"limit": -1, "limit_per_metric": -1}
	for name := range limits {
		s := r.Form.Get(name)
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return answer{}, &apiError{badData, fmt.Errorf("%s must be a number", name)}
		}
		limits[name] = n
	}
	all := a.o.Store.Metadata(r.Form.Get("metric"))
	names := slices.Sorted(maps.Keys(all))
	if n := limits["limit"]; n >= 0 && n < len(names) {
		names = names[:n]
	}
	out := make(map[string][]metadataEntry, len(names))
	for _, name := range names {
		m := all[name]
		// The store keeps one each, so that limit_per_metric has nothing to cut.
		out[name] = []metadataEntry{{m.Type, m.Unit, m.Help}}
	}
	return answer{data: out}, nil
}
