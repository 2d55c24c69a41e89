package promapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/prometheus/promql"

	"github.com/otlpgw/otlpgw/storage"
)

// errorType is the errorType of an answer and its HTTP status.
type errorType struct {
	name string
	code int
}

var (
	badData     = errorType{"bad_data", http.StatusBadRequest}
	notFound    = errorType{"not_found", http.StatusNotFound}
	notAllowed  = errorType{"bad_data", http.StatusMethodNotAllowed}
	execution   = errorType{"execution", http.StatusUnprocessableEntity}
	canceled    = errorType{"canceled", 499} // As nginx has it: the client went away.
	timeout     = errorType{"timeout", http.StatusServiceUnavailable}
	unavailable = errorType{"unavailable", http.StatusServiceUnavailable}
	internal    = errorType{"internal", http.StatusInternalServerError}
)

// apiError is an error that knows its type.
type apiError struct {
	typ errorType
	err error
}

func (e *apiError) Error() string { return e.err.Error() }
func (e *apiError) Unwrap() error { return e.err }

// typeOf returns how an error of the engine or the store is told.
func typeOf(err error) errorType {
	var (
		known     *apiError
		gone      promql.ErrQueryCanceled
		late      promql.ErrQueryTimeout
		ofStorage promql.ErrStorage
		away      *storage.Error
	)
	// The engine's wrapper does not unwrap.
	if errors.As(err, &ofStorage) && errors.As(ofStorage.Err, &away) && away.Kind == storage.KindUnavailable {
		return unavailable
	}
	switch {
	case errors.As(err, &known):
		return known.typ
	case errors.As(err, &away) && away.Kind == storage.KindUnavailable:
		return unavailable
	case errors.As(err, &gone):
		return canceled
	case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded):
		return timeout
	case errors.Is(err, context.Canceled):
		return canceled
	case errors.As(err, &ofStorage):
		return internal
	}
	return execution
}
