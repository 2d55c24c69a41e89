package remotewrite

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// redirecting starts a server that sends every request to another place.
func redirecting(t *testing.T, status int, to string) (url string, seen *[]http.Header) {
	seen = &[]http.Header{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.Header.Clone())
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

func withSecrets(o *DestinationOptions) {
	o.Headers = map[string]string{"X-Api-Key": "hunter2"}
	o.HTTPClientConfig.BasicAuth = &config.BasicAuth{Username: "u", Password: "hunter2"}
	o.HTTPClientConfig.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{"X-More": {Values: []string{"hunter2"}}}}
}

func TestRedirectToAnotherHostTakesNoCredentials(t *testing.T) {
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		far := storagetest.NewFarEnd(t)
		from, seen := redirecting(t, status, far.URL())
		b := newBench(t, withSecrets, func(o *DestinationOptions) { o.URL = from })
		require.Equal(t, Outcome{}, b.send(b.floats(1)...))
		require.Len(t, *seen, 1)
		require.NotEmpty(t, (*seen)[0].Get("Authorization"))
		require.Equal(t, "hunter2", (*seen)[0].Get("X-Api-Key"))
		require.Equal(t, "hunter2", (*seen)[0].Get("X-More"))
		require.Len(t, far.Stored(), 1, "the data arrived")
		for name, v := range far.Requests()[0].Header {
			require.NotContains(t, strings.Join(v, ""), "hunter2", name)
		}
		require.Empty(t, far.Requests()[0].Header.Get("Authorization"))
	}
}

func TestRedirectOnOneHostKeepsCredentials(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/new" {
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
			return
		}
		got = r.Header.Clone()
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "1")
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	b := newBench(t, withSecrets, func(o *DestinationOptions) { o.URL = s.URL })
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	require.NotEmpty(t, got.Get("Authorization"))
	require.Equal(t, "hunter2", got.Get("X-Api-Key"))
}

// A redirect that turns the POST into a GET would end on some page whose 200
// would pass for an acknowledgement, in 1.0 at least.
func TestRedirectToAPageAcknowledgesNothing(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the page was asked for") }))
	t.Cleanup(page.Close)
	for _, follow := range []bool{true, false} {
		for _, status := range []int{301, 302, 303, 307} {
			if follow && status == 307 {
				continue
			}
			from, seen := redirecting(t, status, page.URL)
			b := newBench(t, func(o *DestinationOptions) {
				o.URL, o.ProtobufMessage, o.HTTPClientConfig.FollowRedirects = from, MessageV1, follow
			})
			require.Equal(t, storage.KindUnavailable, b.send(b.floats(1)...).Err.Kind)
			require.Len(t, *seen, 1)
			b.metric(t, "circuit_open", "", "1")
		}
	}
}

func TestHostileAnswers(t *testing.T) {
	b := newBench(t)
	b.far.Next(storagetest.Answer{Status: 409, Body: strings.Repeat("<html>\x00\n", 1<<20)})
	out := b.send(b.floats(1)...)
	require.Len(t, out.Refused, 1)
	require.Less(t, len(out.Refused[0].Reason), 2*maxExcerpt)
	require.Less(t, b.log.Len(), 4*maxExcerpt)
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
}

func TestErrorsDoNotShowTheURL(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	u, err := url.Parse(closed.URL)
	require.NoError(t, err)
	u.User, u.RawQuery = url.UserPassword("u", "hunter2"), "token=hunter2"
	b := newBench(t, func(o *DestinationOptions) { o.URL = u.String() })
	out := b.send(b.floats(1)...)
	require.Equal(t, storage.KindUnavailable, out.Err.Kind)
	require.NotContains(t, out.Err.Error()+b.log.String(), "hunter2")

	_, err = New(Options{Destinations: []DestinationOptions{{URL: "http://u:hunter2@host:port/"}}})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

// An attempt that hangs ends with its timeout and is repeated.
func TestAHangingAttemptEnds(t *testing.T) {
	b := newBench(t, func(o *DestinationOptions) { o.RemoteTimeout = 20 * time.Millisecond })
	b.far.Next(storagetest.Answer{Hold: make(chan struct{})})
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	require.Len(t, b.far.Requests(), 2)
}

func TestFaultsOfOptionsAreReportedTogether(t *testing.T) {
	_, err := New(Options{})
	require.Error(t, err)
	good := DefaultDestinationOptions("http://host/write")
	good.Name = "same"
	bad := good
	bad.Headers = map[string]string{"User-Agent": "me"}
	bad.HTTPClientConfig.BasicAuth = &config.BasicAuth{Password: "p", PasswordFile: "f"}
	_, err = New(Options{Destinations: []DestinationOptions{good, {URL: "ftp://host"}, {}, bad}})
	for _, want := range []string{"remote_write[1]: url", "remote_write[2]: url", `remote_write[3]: name "same" is taken`, "User-Agent", "password"} {
		require.ErrorContains(t, err, want)
	}
}

func TestDestinationNames(t *testing.T) {
	g, err := New(Options{Destinations: []DestinationOptions{{URL: "http://host/a"}, {URL: "http://host/b"}, {URL: "http://other:9/", Name: "mine"}}})
	require.NoError(t, err)
	var names []string
	for _, d := range g.Destinations() {
		names = append(names, d.Name())
	}
	require.Equal(t, []string{"host", "host-1", "mine"}, names)
}
