package gateway

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
)

// A request follows the settings that it began with, the next one the new ones.
func TestSet(t *testing.T) {
	b := newBarrier()
	g := start(t, Options{Pusher: &recorder{answer: b.hold}, Settings: Settings{HTTPMaxRequestSize: 100}})
	begun := make(chan int, 1)
	go func() {
		resp, err := http.Post(g.base+"/v1/metrics", protobufType, bytes.NewReader(make([]byte, 90)))
		if err != nil {
			begun <- 0
			return
		}
		_ = resp.Body.Close()
		begun <- resp.StatusCode
	}()
	<-b.entered
	require.NoError(t, g.Set(Settings{HTTPMaxRequestSize: 80, CORSAllowedOrigins: []string{"*"}}))
	close(b.open)
	require.Equal(t, http.StatusOK, <-begun)
	resp, err := http.Post(g.base+"/v1/metrics", protobufType, bytes.NewReader(make([]byte, 90)))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)

	require.ErrorContains(t, g.Set(Settings{HTTPMaxRequestSize: -1}), "HTTPMaxRequestSize")
	require.ErrorContains(t, g.Set(Settings{CORSAllowedOrigins: []string{"x"}}), "is no origin")
	require.EqualValues(t, 80, g.rules.Load().HTTPMaxRequestSize, "what is wrong changes nothing")
	require.True(t, g.rules.Load().cors.allows("https://any.example"))
}

func TestReloadPage(t *testing.T) {
	var result error
	g := start(t, Options{Reload: func() error { return result }})
	for want, err := range map[int]error{
		http.StatusOK:                 nil,
		http.StatusBadRequest:         errors.New("line 1: what is that?"),
		http.StatusServiceUnavailable: storage.Unavailable(errors.New("still opening"), 0),
	} {
		result = err
		resp, postErr := http.Post(g.admin+"/-/reload", "", nil)
		require.NoError(t, postErr)
		body := new(bytes.Buffer)
		_, readErr := body.ReadFrom(resp.Body)
		require.NoError(t, readErr)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode)
		switch want {
		case http.StatusBadRequest:
			require.Contains(t, body.String(), "line 1: what is that?")
		case http.StatusServiceUnavailable:
			require.Equal(t, "not reloaded: still opening\n", body.String())
		}
	}
	resp, err := http.Get(g.admin + "/-/reload")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}
