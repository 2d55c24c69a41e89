package converter

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The log has a line for each reason, with what came since the last one, and no
// more than one in a while.
func TestRejectLog(t *testing.T) {
	var log strings.Builder
	l := rejectLog{logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))}
	lines := func() string {
		defer log.Reset()
		return log.String()
	}
	var late, both report
	late.reject(ReasonTooOld, []byte("a"), "5 ms old")
	both.reject(ReasonTooOld, []byte("b"), "")
	both.reject(ReasonNoTime, []byte("b"), "")
	both.reject(ReasonNoTime, []byte("c"), "")
	l.tell(&report{}, "", 1)
	require.Empty(t, lines())
	l.tell(&late, "", 1)
	require.Equal(t, `level=WARN msg="data points were rejected" reason=too_old points=1 metrics=a why="older than the storage accepts: 5 ms old"`+"\n", lines())
	l.tell(&late, "", 1000)
	require.Empty(t, lines())
	l.tell(&both, "red", 2000)
	require.Equal(t, `level=WARN msg="data points were rejected" reason=no_time points=2 metrics="b c" why="time_unix_nano is 0" tenant=red`+"\n", lines())
	l.tell(&late, "", 1+tellRejectedMs)
	require.Contains(t, lines(), "points=3 metrics=a")
}
