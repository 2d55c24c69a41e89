package local

import (
	"context"
	"sync"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
)

// Querier returns a querier over [mint, maxt], in ms. The store stays open
// until its Close.
func (b *Backend) Querier(mint, maxt int64) (promstorage.Querier, error) {
	st, err := b.acquire(false)
	if err != nil {
		return nil, err
	}
	q, err := st.db.Querier(mint, maxt)
	if err != nil {
		b.release(st)
		return nil, err
	}
	return &querier{Querier: q, release: sync.OnceFunc(func() { b.release(st) })}, nil
}

// querier gives the store back when closed.
type querier struct {
	promstorage.Querier
	release func()
}

func (q *querier) Close() error {
	defer q.release()
	return q.Querier.Close()
}

// ExemplarQuerier returns a querier over the exemplars in memory. It holds
// nothing that would have to be closed.
func (b *Backend) ExemplarQuerier(ctx context.Context) (promstorage.ExemplarQuerier, error) {
	return &exemplarQuerier{b, ctx}, nil
}

type exemplarQuerier struct {
	b   *Backend
	ctx context.Context
}

// Select returns the exemplars of the matching series in [start, end], in ms.
func (q *exemplarQuerier) Select(start, end int64, matchers ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	st, err := q.b.acquire(false)
	if err != nil {
		return nil, err
	}
	defer q.b.release(st)
	inner, err := st.db.ExemplarQuerier(q.ctx)
	if err != nil {
		return nil, err
	}
	return inner.Select(start, end, matchers...)
}
