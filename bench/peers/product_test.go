package peers

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otlpgw/otlpgw/bench"
	"github.com/otlpgw/otlpgw/converter"
)

// firstMs is before the time of every request, by a second. The product's clock
// is far behind the last.
const firstMs = 1_700_000_000_000

func clock() time.Time { return time.UnixMilli(firstMs).AddDate(10, 0, 0) }

// newProduct returns the product's converter, which makes a target_info for
// each target.
func newProduct(tb testing.TB, shape bench.Shape, corpus *bench.Corpus) *party {
	tb.Helper()
	backend, registry := newMeter(), prometheus.NewRegistry()
	pipeline, err := converter.New(converter.Options{
		Backend: backend, Registerer: registry, Now: clock, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	push := func(body []byte) error {
		report, err := pipeline.Push(ctx, converter.Request{Body: body})
		if err == nil && (report.Points != corpus.Points || report.Rejected != 0) {
			err = fmt.Errorf("%d of %d points were accepted: %s", report.Points-report.Rejected, corpus.Points, report.Message)
		}
		return err
	}
	return &party{
		name:    "otlpgw",
		samples: corpus.Samples + shape.Targets,
		push:    push,
		count:   func(body []byte) (tally, error) { return backend.during(func() error { return push(body) }) },
		hits:    func() (float64, error) { return counter(registry, "otlpgw_series_cache_hits_total") },
	}
}

// counter returns the value of a counter without labels.
func counter(registry *prometheus.Registry, name string) (float64, error) {
	families, err := registry.Gather()
	if err != nil {
		return 0, err
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue(), nil
		}
	}
	return 0, fmt.Errorf("there is no counter %s", name)
}
