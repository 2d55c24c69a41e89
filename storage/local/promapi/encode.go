package promapi

import (
	"net/http"

	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/jsonutil"
)

type (
	seriesData   []labels.Labels
	exemplarData []exemplar.QueryResult
)

const (
	// chunk is how many bytes are written at once: answers need not fit into
	// memory a second time.
	chunk = 64 << 10
	// maxNotes is how many warnings and infos are told, each.
	maxNotes = 10
)

func (a *API) succeed(w http.ResponseWriter, r *http.Request, ans answer) {
	w.Header().Set("Content-Type", "application/json")
	e := encoder{jsoniter.NewStream(jsoniter.ConfigCompatibleWithStandardLibrary, w, chunk)}
	e.WriteObjectStart()
	e.WriteObjectField("status")
	e.WriteString("success")
	e.WriteMore()
	e.WriteObjectField("data")
	e.data(ans.data)
	e.notes(ans.notes, ans.query)
	e.WriteObjectEnd()
	a.finish(e, r)
}

func (a *API) fail(w http.ResponseWriter, r *http.Request, err error, notes annotations.Annotations) {
	t := typeOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(t.code)
	e := encoder{jsoniter.NewStream(jsoniter.ConfigCompatibleWithStandardLibrary, w, chunk)}
	e.WriteObjectStart()
	e.WriteObjectField("status")
	e.WriteString("error")
	e.WriteMore()
	e.WriteObjectField("errorType")
	e.WriteString(t.name)
	e.WriteMore()
	e.WriteObjectField("error")
	e.WriteVal(err.Error()) // Unlike WriteString it mends invalid UTF-8.
	e.notes(notes, "")
	e.WriteObjectEnd()
	a.finish(e, r)
}

func (a *API) finish(e encoder, r *http.Request) {
	if err := e.Flush(); err == nil {
		err = e.Error
		if err != nil {
			a.o.Logger.Error("An answer could not be encoded", "path", r.URL.Path, "err", err)
		}
	}
	// A failed Flush means that the client has gone.
}

// encoder writes the JSON shapes of the HTTP API.
type encoder struct{ *jsoniter.Stream }

// spill writes out what is buffered once it is a chunk. An error stays in the
// stream and makes what follows go nowhere.
func (e encoder) spill() {
	if e.Buffered() >= chunk {
		_ = e.Flush()
	}
}

func (e encoder) data(v any) {
	switch v := v.(type) {
	case queryData:
		e.query(v)
	case seriesData:
		list(e, v, e.labels)
	case exemplarData:
		list(e, v, e.exemplars)
	case []string:
		list(e, v, func(s string) { e.WriteVal(s) })
	default:
		e.WriteVal(v)
	}
}

func list[T any](e encoder, items []T, write func(T)) {
	e.WriteArrayStart()
	for i, item := range items {
		if i > 0 {
			e.WriteMore()
		}
		write(item)
		e.spill()
	}
	e.WriteArrayEnd()
}

func (e encoder) notes(notes annotations.Annotations, query string) {
	warnings, infos := notes.AsStrings(query, maxNotes, maxNotes)
	for _, n := range []struct {
		name  string
		texts []string
	}{{"warnings", warnings}, {"infos", infos}} {
		if len(n.texts) > 0 {
			e.WriteMore()
			e.WriteObjectField(n.name)
			e.WriteVal(n.texts)
		}
	}
}

func (e encoder) query(d queryData) {
	e.WriteObjectStart()
	e.WriteObjectField("resultType")
	e.WriteString(string(d.value.Type()))
	e.WriteMore()
	e.WriteObjectField("result")
	e.value(d.value)
	if d.stats != nil {
		e.WriteMore()
		e.WriteObjectField("stats")
		e.WriteVal(d.stats)
	}
	e.WriteObjectEnd()
}

func (e encoder) value(v parser.Value) {
	switch v := v.(type) {
	case promql.Vector:
		list(e, v, e.sample)
	case promql.Matrix:
		list(e, v, e.series)
	case promql.Scalar:
		e.point(v.T, v.V, nil)
	case promql.String:
		e.WriteArrayStart()
		jsonutil.MarshalTimestamp(v.T, e.Stream)
		e.WriteMore()
		e.WriteVal(v.V)
		e.WriteArrayEnd()
	default:
		e.WriteVal(v)
	}
}

func (e encoder) sample(s promql.Sample) {
	e.WriteObjectStart()
	e.WriteObjectField("metric")
	e.labels(s.Metric)
	e.WriteMore()
	if s.H != nil {
		e.WriteObjectField("histogram")
	} else {
		e.WriteObjectField("value")
	}
	e.point(s.T, s.F, s.H)
	e.WriteObjectEnd()
}

func (e encoder) series(s promql.Series) {
	e.WriteObjectStart()
	e.WriteObjectField("metric")
	e.labels(s.Metric)
	if len(s.Floats) > 0 {
		e.WriteMore()
		e.WriteObjectField("values")
		list(e, s.Floats, func(p promql.FPoint) { e.point(p.T, p.F, nil) })
	}
	if len(s.Histograms) > 0 {
		e.WriteMore()
		e.WriteObjectField("histograms")
		list(e, s.Histograms, func(p promql.HPoint) { e.point(p.T, 0, p.H) })
	}
	e.WriteObjectEnd()
}

// point writes a pair of seconds and a value.
func (e encoder) point(t int64, f float64, h *histogram.FloatHistogram) {
	e.WriteArrayStart()
	jsonutil.MarshalTimestamp(t, e.Stream)
	e.WriteMore()
	if h != nil {
		jsonutil.MarshalHistogram(h, e.Stream)
	} else {
		jsonutil.MarshalFloat(f, e.Stream)
	}
	e.WriteArrayEnd()
}

func (e encoder) labels(ls labels.Labels) {
	e.WriteObjectStart()
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			e.WriteMore()
		}
		first = false
		e.WriteVal(l.Name)
		e.WriteRaw(":")
		e.WriteVal(l.Value)
	})
	e.WriteObjectEnd()
}

func (e encoder) exemplars(r exemplar.QueryResult) {
	e.WriteObjectStart()
	e.WriteObjectField("seriesLabels")
	e.labels(r.SeriesLabels)
	e.WriteMore()
	e.WriteObjectField("exemplars")
	list(e, r.Exemplars, func(x exemplar.Exemplar) {
		e.WriteObjectStart()
		e.WriteObjectField("labels")
		e.labels(x.Labels)
		e.WriteMore()
		e.WriteObjectField("value")
		jsonutil.MarshalFloat(x.Value, e.Stream)
		e.WriteMore()
		e.WriteObjectField("timestamp")
		jsonutil.MarshalTimestamp(x.Ts, e.Stream)
		e.WriteObjectEnd()
	})
	e.WriteObjectEnd()
}
