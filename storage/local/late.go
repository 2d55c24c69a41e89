package local

import (
	"context"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// stored returns the committed value of a series at time t, in ms. Only late
// samples are looked up: it costs an index look-up by all labels.
func stored(ctx context.Context, db *tsdb.DB, ls labels.Labels, t int64) (v sampleValue, found bool, err error) {
	q, err := db.Querier(t, t)
	if err != nil {
		return v, false, fmt.Errorf("read back the sample at %d: %w", t, err)
	}
	// A querier's Close releases what it read; there is nothing to lose by it.
	defer q.Close()

	matchers := make([]*labels.Matcher, 0, ls.Len())
	ls.Range(func(l labels.Label) {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value))
	})
	set := q.Select(ctx, false, &promstorage.SelectHints{Start: t, End: t}, matchers...)
	for set.Next() {
		s := set.At()
		if !labels.Equal(s.Labels(), ls) {
			continue // It has more labels.
		}
		it := s.Iterator(nil)
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			if it.AtT() != t {
				continue
			}
			return valueAt(it, typ), true, nil
		}
		if err := it.Err(); err != nil {
			return v, false, fmt.Errorf("read back the sample at %d: %w", t, err)
		}
	}
	if err := set.Err(); err != nil {
		return v, false, fmt.Errorf("read back the sample at %d: %w", t, err)
	}
	return v, false, nil
}

func valueAt(it chunkenc.Iterator, typ chunkenc.ValueType) sampleValue {
	switch typ {
	case chunkenc.ValHistogram:
		_, h := it.AtHistogram(nil)
		return valueOf(0, h, nil)
	case chunkenc.ValFloatHistogram:
		_, fh := it.AtFloatHistogram(nil)
		return valueOf(0, nil, fh)
	default:
		_, v := it.At()
		return valueOf(v, nil, nil)
	}
}
