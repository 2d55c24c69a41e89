package e2e

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
)

// receiver is Prometheus's own remote-write receiver over a TSDB, with a door
// that a test can hold.
type receiver struct {
	engineStore
	url      string
	requests atomic.Int64
	// door decides what happens to a request before the receiver gets it: true
	// lets it in. Nil lets all in.
	door atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func newReceiver(t *testing.T, accepted ...remoteapi.WriteMessageType) *receiver {
	t.Helper()
	o := tsdb.DefaultOptions()
	o.EnableExemplarStorage = true
	o.MaxExemplars = 1000
	o.OutOfOrderTimeWindow = (30 * time.Minute).Milliseconds()
	logger := slog.New(slog.DiscardHandler)
	db, err := tsdb.Open(t.TempDir(), logger, nil, o, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })

	h := remote.NewWriteHandler(logger, nil, db, accepted, false, false)
	r := &receiver{engineStore: newEngineStore(t, db)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		if door := r.door.Load(); door != nil && !(*door)(w, req) {
			return
		}
		h.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	r.url = srv.URL + "/api/v1/write"
	return r
}

// setDoor replaces the door; nil opens it for all.
func (r *receiver) setDoor(f func(http.ResponseWriter, *http.Request) bool) {
	if f == nil {
		r.door.Store(nil)
		return
	}
	r.door.Store(&f)
}
