package converter

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A point that is reshaped by one request while another stages it, with the
// lock of another target, is staged in the shape it was found in.
func TestReshapeWhileStaged(t *testing.T) {
	for _, reshaped := range []string{"bounds", "sum"} {
		t.Run(reshaped, func(t *testing.T) { reshapeWhileStaged(t, reshaped) })
	}
}

func reshapeWhileStaged(t *testing.T, reshaped string) {
	t.Helper()
	l := newLine(t, Options{Relabel: twinRules(t, 1), Logger: slog.New(slog.DiscardHandler)})
	body := func(instance, ms int, edge int) []byte {
		sum := ""
		if edge == 2 && reshaped == "sum" {
			sum = "sum: 1"
		}
		return encode(t, fmt.Sprintf(`resource_metrics { resource { attributes { key: "service.name" value { string_value: "s" } }
			attributes { key: "service.instance.id" value { string_value: "%d" } } } scope_metrics { metrics { name: "h" histogram { aggregation_temporality: 2
			data_points { time_unix_nano: %d000000 count: 3 %s bucket_counts: [1,1,1] explicit_bounds: [%s] } } } } }`, instance, ms, sum, map[int]string{2: "1,2", 3: "2,3"}[edge]))
	}
	_, err := l.Push(t.Context(), Request{Body: body(0, 1, 2)}) // Target 0 owns the series.
	require.NoError(t, err)
	_, err = l.Push(t.Context(), Request{Body: body(0, 2, 3)})
	require.NoError(t, err)
	var g sync.WaitGroup
	for n := range 4 {
		g.Go(func() {
			for i := range 3000 {
				if _, err := l.Push(context.Background(), Request{Body: body(1, 100+i*4+n, 2+(i+n)%2)}); err != nil {
					panic(err)
				}
			}
		})
	}
	g.Wait()
	for _, s := range l.rec.Samples() { // Bound 1 has 1, bound 3 has 2, bound 2 either.
		le, want := s.Labels.Get("le"), 3.0
		switch le {
		case "1":
			want = 1
		case "3":
			want = 2
		case "2":
			continue
		}
		if s.Labels.Get("__name__") == "h_sum" {
			want = 1
		}
		if s.Labels.Get("__name__") != "target_info" {
			require.Equal(t, want, s.V, s.Labels.String())
		}
	}
}
