package converter_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// A series that nobody has sent for the cache's idle timeout is active no more
// and leaves its room to a new one.
func TestSeriesLimitsHaveRoomAgain(t *testing.T) {
	for _, limits := range []converter.Limits{{MaxActiveSeries: 1}, {MaxSeriesPerMetric: 1}} {
		t.Run(fmt.Sprintf("%+v", limits), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := storagetest.NewRecorder()
				line, err := converter.New(converter.Options{Backend: rec, Limits: limits, Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go line.Run(ctx)
				send := func(k string) int {
					req, err := convertertest.Metrics(fmt.Sprintf(
						`metrics { name: "m" gauge { data_points { time_unix_nano: @%d as_int: 1 attributes: "k" = %q } } }`,
						time.Now().UnixMilli(), k))
					require.NoError(t, err)
					report, err := line.Push(ctx, converter.Request{Body: convertertest.Ascending(req)})
					require.NoError(t, err)
					return report.Rejected
				}
				require.Equal(t, 0, send("a"))
				require.Equal(t, 1, send("b"))
				for range 4 { // A series that is sent stays.
					time.Sleep(30 * time.Minute)
					require.Equal(t, 0, send("a"))
					require.Equal(t, 1, send("b"))
				}
				time.Sleep(3 * time.Hour)
				require.Equal(t, 0, send("b"))
				require.Equal(t, 1, send("a"))
				rec.AssertClean(t)
			})
		})
	}
}
