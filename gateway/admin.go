package gateway

import (
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/otlpgw/otlpgw/storage"
)

// AdminHandler returns the handler of the admin pages, for servers that are
// not this room's. [Gateway.RunAdmin] serves the same.
func (g *Gateway) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	var index []string
	page := func(pattern, link, what string, h http.Handler) {
		mux.Handle(pattern, h)
		if link != "" {
			index = append(index, fmt.Sprintf("<li><a href=%q>%s</a> %s</li>\n", link, html.EscapeString(link), html.EscapeString(what)))
		}
	}
	page("GET /metrics", "/metrics", "metrics of the gateway itself", promhttp.HandlerFor(g.o.Gatherer, promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(g.logger.Handler(), slog.LevelError),
		EnableOpenMetrics: true,
	}))
	page("GET /-/healthy", "/-/healthy", "200 while the process lives", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		plainText(w, http.StatusOK, "healthy\n")
	}))
	page("GET /-/ready", "/-/ready", "200 while requests are welcome, else 503 and why not", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := g.ready(); err != nil {
			plainText(w, http.StatusServiceUnavailable, "not ready: "+err.Error()+"\n")
			return
		}
		plainText(w, http.StatusOK, "ready\n")
	}))
	if g.o.Config != nil {
		page("GET /-/config", "/-/config", "effective configuration, secrets redacted", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/yaml")
			_, _ = w.Write(g.o.Config())
		}))
	}
	if g.o.Reload != nil {
		page("POST /-/reload", "", "", http.HandlerFunc(g.reload))
	}
	if g.o.API != nil {
		page("/api/v1/", "", "", g.o.API)
	}
	for _, p := range g.o.Pages {
		page("GET "+p.Path, p.Path, p.What, p.Handler)
	}
	page("/debug/pprof/", "/debug/pprof/", "profiles of the process", http.HandlerFunc(pprof.Index))
	page("/debug/pprof/cmdline", "", "", http.HandlerFunc(pprof.Cmdline))
	page("/debug/pprof/profile", "", "", http.HandlerFunc(pprof.Profile))
	page("/debug/pprof/symbol", "", "", http.HandlerFunc(pprof.Symbol))
	page("/debug/pprof/trace", "", "", http.HandlerFunc(pprof.Trace))

	body := "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>otlpgw</title></head><body>\n<h1>otlpgw</h1>\n<ul>\n" +
		strings.Join(index, "") + "</ul>\n</body></html>\n"
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, body)
	})
	return mux
}

// reload has the configuration read again. The answer says what is wrong with
// it, or that now is not the time.
func (g *Gateway) reload(w http.ResponseWriter, _ *http.Request) {
	err := g.o.Reload()
	var e *storage.Error
	switch {
	case err == nil:
		plainText(w, http.StatusOK, "reloaded\n")
	case errors.As(err, &e):
		plainText(w, http.StatusServiceUnavailable, "not reloaded: "+e.Err.Error()+"\n")
	default:
		plainText(w, http.StatusBadRequest, "not reloaded, the old configuration stays in force:\n"+err.Error()+"\n")
	}
}

func plainText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}
