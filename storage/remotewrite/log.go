package remotewrite

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logEvery is how often a destination complains of one kind of answer: an
// outage under load would otherwise be thousands of lines a second.
const logEvery = 10 * time.Second

// limitedLog writes at most one line per kind of answer and interval, and says
// how many it left out. It is safe for concurrent use.
type limitedLog struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	kinds [misconfigured + 1]struct {
		last    time.Time
		skipped int
	}
}

func (l *limitedLog) write(kind verdict, level slog.Level, msg string, attrs ...slog.Attr) {
	now := l.now()
	l.mu.Lock()
	k := &l.kinds[kind]
	if !k.last.IsZero() && now.Sub(k.last) < logEvery {
		k.skipped++
		l.mu.Unlock()
		return
	}
	skipped := k.skipped
	k.last, k.skipped = now, 0
	l.mu.Unlock()
	if skipped > 0 {
		attrs = append(attrs, slog.Int("alike_since_last", skipped))
	}
	l.log.LogAttrs(context.Background(), level, msg, attrs...)
}
