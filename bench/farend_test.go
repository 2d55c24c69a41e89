package bench

import (
	"io"
	"net/http"
	"sync/atomic"
)

// farEnd is a remote-write receiver that takes everything and keeps nothing. It
// counts the requests and their bytes by version.
type farEnd struct{ v1, v2, bytes atomic.Int64 }

func (f *farEnd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return // The sender went away.
	}
	f.bytes.Add(n)
	if r.Header.Get("X-Prometheus-Remote-Write-Version") != "2.0.0" {
		f.v1.Add(1)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	f.v2.Add(1)
	// More than any request has: all of it was written.
	for _, kind := range []string{"Samples", "Histograms", "Exemplars"} {
		w.Header().Set("X-Prometheus-Remote-Write-"+kind+"-Written", "1000000")
	}
	w.WriteHeader(http.StatusNoContent)
}
