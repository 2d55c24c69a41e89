package bench

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/storage"
)

// void is the backend of both handlers. It costs nothing: whoever brings a ref
// gets it back, and who brings none gets the next one. For a sender that keeps
// the refs of its series, as this handler does, that is the contract of a store;
// Prometheus's handler brings no refs and does not look at them, so a backend
// that looked its series up, as [storagetest.Discard] does and every store has
// to, would make this handler look better: 1.5 times on the batch shape.
type void struct{ last atomic.Uint64 }

var (
	_ storage.Backend        = (*void)(nil)
	_ storage.TargetAppender = (*void)(nil)
)

func (v *void) AppenderV2(context.Context) promstorage.AppenderV2 { return v }
func (v *void) Ready() error                                      { return nil }
func (v *void) Close(context.Context) error                       { return nil }
func (v *void) Target(uint64) int                                 { return 0 }
func (v *void) At(int)                                            {}
func (v *void) Commit() error                                     { return nil }
func (v *void) Rollback() error                                   { return nil }

func (v *void) Append(ref promstorage.SeriesRef, _ labels.Labels, _, _ int64, _ float64, _ *histogram.Histogram, _ *histogram.FloatHistogram, _ promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if ref != 0 {
		return ref, nil
	}
	return promstorage.SeriesRef(v.last.Add(1)), nil
}

// series returns how many appends came without a ref.
func (v *void) series() int { return int(v.last.Load()) }
