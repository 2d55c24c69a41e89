package promapi

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

// API is an [http.Handler] for the paths under /api/v1/. It is safe for
// concurrent use.
type API struct {
	o      Options
	mux    *http.ServeMux
	engine *promql.Engine
	parser parser.Parser
	slots  slots
}

// maxForm bounds the body of a form POST in bytes. Queries are long where
// dashboards put lists of values into regular expressions, not that long.
const maxForm = 4 << 20

// New returns an API over o.Store. It holds no files and needs no Close.
func New(o Options) (*API, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &API{
		o:      o,
		mux:    http.NewServeMux(),
		parser: parser.NewParser(parser.Options{}),
		slots:  make(slots, o.MaxConcurrent),
	}
	a.engine = promql.NewEngine(promql.EngineOpts{
		Logger:             o.Logger.With("component", "promql"),
		Reg:                o.Registerer,
		MaxSamples:         o.MaxSamples,
		Timeout:            o.Timeout,
		ActiveQueryTracker: a.slots,
		LookbackDelta:      o.LookbackDelta,
		// Prometheus's default evaluation interval is the step of a subquery
		// that names none.
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		// Per-step statistics take memory by the step of every subquery, whether
		// anybody asked for them or not, and no limit on samples bounds that.
		EnablePerStepStats: false,
		Parser:             a.parser,
	})

	// The engine takes a slot itself.
	a.handle("query", a.query, http.MethodGet, http.MethodPost)
	a.handle("query_range", a.queryRange, http.MethodGet, http.MethodPost)
	a.handle("format_query", a.formatQuery, http.MethodGet, http.MethodPost)
	a.handle("query_exemplars", a.slotted(a.exemplars), http.MethodGet, http.MethodPost)
	a.handle("series", a.slotted(a.series), http.MethodGet, http.MethodPost)
	a.handle("labels", a.slotted(a.labelNames), http.MethodGet, http.MethodPost)
	a.handle("label/{name}/values", a.slotted(a.labelValues), http.MethodGet)
	a.handle("metadata", a.metadata, http.MethodGet)
	a.handle("status/buildinfo", a.buildInfo, http.MethodGet)
	a.handle("rules", a.constant(map[string]any{"groups": []any{}}), http.MethodGet)
	a.handle("alerts", a.constant(map[string]any{"alerts": []any{}}), http.MethodGet)
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, &apiError{notFound, fmt.Errorf("no such path: %s; this is the read side of Prometheus's HTTP API", r.URL.Path)}, nil)
	})
	return a, nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// answer is the outcome of a request. Data may point into the store until
// done is called.
type answer struct {
	data  any
	notes annotations.Annotations
	// query is the text that notes have positions in.
	query string
	done  func()
}

// handlerFunc answers a request whose form is parsed and whose context is
// bounded.
type handlerFunc func(r *http.Request) (answer, error)

func (a *API) handle(path string, h handlerFunc, methods ...string) {
	serve := func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			a.fail(w, r, &apiError{badData, fmt.Errorf("error parsing form values: %w", err)}, nil)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), a.o.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		ans, err := h(r)
		if ans.done != nil {
			defer ans.done()
		}
		if err != nil {
			a.fail(w, r, err, ans.notes)
			return
		}
		a.succeed(w, r, ans)
	}
	for _, m := range methods {
		a.mux.HandleFunc(m+" /api/v1/"+path, serve)
	}
	a.mux.HandleFunc("/api/v1/"+path, func(w http.ResponseWriter, r *http.Request) {
		for _, m := range methods {
			w.Header().Add("Allow", m)
		}
		a.fail(w, r, &apiError{notAllowed, fmt.Errorf("method %s is not allowed for %s", r.Method, r.URL.Path)}, nil)
	})
}

func (a *API) constant(data any) handlerFunc {
	return func(*http.Request) (answer, error) { return answer{data: data}, nil }
}

func (a *API) buildInfo(*http.Request) (answer, error) {
	b := a.o.Build
	if b.Version == "" {
		b.Version = apiVersion
	}
	if b.GoVersion == "" {
		b.GoVersion = runtime.Version()
	}
	return answer{data: b}, nil
}

// slots bounds how many requests read at once. It is the engine's query
// tracker.
type slots chan struct{}

var _ promql.QueryTracker = slots(nil)

// Insert takes a slot, or returns ctx's error.
func (s slots) Insert(ctx context.Context, _ string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err // Also if there is a slot.
	}
	select {
	case s <- struct{}{}:
		return 0, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Delete gives a slot back.
func (s slots) Delete(int) { <-s }

// GetMaxConcurrent returns the number of slots.
func (s slots) GetMaxConcurrent() int { return cap(s) }

// Close does nothing.
func (s slots) Close() error { return nil }

func (a *API) slotted(h handlerFunc) handlerFunc {
	return func(r *http.Request) (answer, error) {
		if _, err := a.slots.Insert(r.Context(), ""); err != nil {
			return answer{}, err
		}
		defer a.slots.Delete(0)
		return h(r)
	}
}
