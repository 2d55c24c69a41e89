package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/gateway"
)

// Rows of /debug/cardinality: without ?limit=, and at most.
const (
	defaultTop = 20
	maxTop     = 1000
)

// inspected is what the debug pages show; a [converter.Pipeline] is one.
type inspected interface {
	Conflicts() []converter.Conflict
	Cardinality(top int) converter.Cardinality
}

// debugPages are the admin pages about what senders send. The function returns
// nil for as long as there is nothing to show.
func debugPages(of func() inspected) []gateway.Page {
	page := func(path, what string, show func(http.ResponseWriter, *http.Request, inspected)) gateway.Page {
		return gateway.Page{Path: path, What: what, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x := of()
			if x == nil {
				http.Error(w, errOpening.Error(), http.StatusServiceUnavailable)
				return
			}
			show(w, r, x)
		})}
	}
	// Counting label values takes memory in proportion to the series: one at a
	// time.
	var counting sync.Mutex
	return []gateway.Page{
		page("/debug/conflicts", "what senders disagree on, newest first", func(w http.ResponseWriter, _ *http.Request, x inspected) {
			writeJSON(w, x.Conflicts())
		}),
		page("/debug/cardinality", "metrics and labels with the most series; ?limit= sets how many", func(w http.ResponseWriter, r *http.Request, x inspected) {
			top := defaultTop
			if s := r.URL.Query().Get("limit"); s != "" {
				n, err := strconv.Atoi(s)
				if err != nil || n < 1 || n > maxTop {
					http.Error(w, fmt.Sprintf("limit must be a number from 1 to %d", maxTop), http.StatusBadRequest)
					return
				}
				top = n
			}
			counting.Lock()
			defer counting.Unlock()
			writeJSON(w, x.Cardinality(top))
		}),
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// The client has gone when this fails.
	_ = json.NewEncoder(w).Encode(v)
}
