package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage"
)

// counted notes how many rows it was asked for.
type counted struct{ top int }

func (c *counted) Conflicts() []converter.Conflict { return []converter.Conflict{} }

func (c *counted) Cardinality(top int) converter.Cardinality {
	c.top = top
	return converter.Cardinality{Metrics: []converter.MetricCount{}, Labels: []converter.LabelCount{}}
}

func TestDebugPages(t *testing.T) {
	var x counted
	var behind inspected
	mux := http.NewServeMux()
	for _, p := range debugPages(func() inspected { return behind }) {
		mux.Handle("GET "+p.Path, p.Handler)
	}
	page := func(url string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
		return w.Code, w.Body.String()
	}
	code, body := page("/debug/conflicts")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "the store is still opening\n", body)

	behind = &x
	_, body = page("/debug/conflicts")
	require.Equal(t, "[]\n", body)
	code, body = page("/debug/cardinality")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, `{"series":0,"metrics":[],"labels":[]}`+"\n", body)
	require.Equal(t, 20, x.top)
	_, _ = page("/debug/cardinality?limit=7")
	require.Equal(t, 7, x.top)
	for _, bad := range []string{"0", "-1", "1001", "many"} {
		code, body = page("/debug/cardinality?limit=" + bad)
		require.Equal(t, http.StatusBadRequest, code, bad)
		require.Equal(t, "limit must be a number from 1 to 1000\n", body)
	}
	require.Equal(t, 7, x.top)
}

// Before the store has opened nothing is accepted, and nothing is refused for
// good.
func TestOpening(t *testing.T) {
	var o stage
	require.ErrorIs(t, o.ready(), errOpening)
	require.Nil(t, o.inspected())

	converted := 0
	_, err := o.Push(context.Background(), converter.Request{Converted: func() { converted++ }})
	var e *storage.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, storage.KindUnavailable, e.Kind)
	require.Equal(t, 1, converted)

	w := httptest.NewRecorder()
	o.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/query?query=up", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}
