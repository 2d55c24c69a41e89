package remotewrite

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/common/config"
	"github.com/prometheus/sigv4"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// tokens is an endpoint of OAuth 2.0 for client credentials (RFC 6749, 4.4).
type tokens struct {
	url     string
	asked   atomic.Int64
	away    atomic.Bool
	expires atomic.Int64 // seconds that a token is good for
}

const clientSecret = "hunter2"

func newTokens(t *testing.T) *tokens {
	e := &tokens{}
	e.expires.Store(3600)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.away.Load() {
			http.Error(w, "away", http.StatusInternalServerError)
			return
		}
		id, secret, basic := r.BasicAuth()
		if !basic {
			id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
		}
		if r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("scope") != "metrics.write" ||
			r.PostFormValue("audience") != "store" || id != "gateway" || secret != clientSecret {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, e.asked.Add(1), e.expires.Load())
	}))
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

// client returns what a destination is told of the endpoint.
func (e *tokens) client(o *DestinationOptions) {
	o.HTTPClientConfig.OAuth2 = &config.OAuth2{
		ClientID: "gateway", ClientSecret: clientSecret, TokenURL: e.url, Scopes: []string{"metrics.write"},
		EndpointParams: map[string]string{"audience": "store"},
	}
}

func TestOAuth2(t *testing.T) {
	e := newTokens(t)
	b := newBench(t, e.client)
	for range 2 {
		require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	}
	for _, r := range b.far.Requests() {
		require.Equal(t, "Bearer token-1", r.Header.Get("Authorization"), "one token serves until it expires")
	}
}

// A token that expired is replaced, also after the request that asked for the
// first one is over.
func TestOAuth2TokensExpire(t *testing.T) {
	e := newTokens(t)
	e.expires.Store(1) // The client renews some seconds early: at once.
	b := newBench(t, e.client)
	for i := range 3 {
		require.Equal(t, Outcome{}, b.send(b.floats(1)...))
		require.Equal(t, fmt.Sprintf("Bearer token-%d", i+1), b.far.Requests()[i].Header.Get("Authorization"))
	}
}

// The secret may be in a file, which is read again when it was rotated.
func TestOAuth2SecretFile(t *testing.T) {
	e := newTokens(t)
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	b := newBench(t, e.client, func(o *DestinationOptions) {
		o.HTTPClientConfig.OAuth2.ClientSecret, o.HTTPClientConfig.OAuth2.ClientSecretFile = "", file
	})
	require.Equal(t, storage.KindUnavailable, b.send(b.floats(1)...).Err.Kind)
	require.Empty(t, b.far.Requests())
	require.NoError(t, os.WriteFile(file, []byte(clientSecret+"\n"), 0o600))
	b.clock.now = b.clock.now.Add(minOpen)
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	require.Len(t, b.far.Stored(), 1)
}

// Without a token nothing is sent, nothing is acknowledged and the client
// retries; nobody is told the secret.
func TestOAuth2EndpointAway(t *testing.T) {
	e := newTokens(t)
	e.away.Store(true)
	b := newBench(t, e.client)
	out := b.send(b.floats(1)...)
	require.Equal(t, storage.KindUnavailable, out.Err.Kind)
	require.NotContains(t, out.Err.Error()+b.log.String(), clientSecret)
	require.Empty(t, b.far.Requests())
	e.away.Store(false)
	b.clock.now = b.clock.now.Add(minOpen)
	require.Equal(t, Outcome{}, b.send(b.floats(1)...))
	require.Len(t, b.far.Stored(), 1)
}

func withSigV4(o *DestinationOptions) {
	o.SigV4 = &sigv4.SigV4Config{Region: "eu-west-1", AccessKey: "AKIDEXAMPLE", SecretKey: clientSecret}
}

// Amazon's service for Prometheus recomputes the signature over what it gets.
func TestSigV4(t *testing.T) {
	var signed, wrong atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != authorizationV4(r, body) {
			wrong.Add(1)
			http.Error(w, "the signature does not match", http.StatusForbidden)
			return
		}
		if signed.Add(1) == 1 {
			http.Error(w, "again", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "3")
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	b := newBench(t, withSigV4, func(o *DestinationOptions) { o.URL = s.URL + "/workspaces/ws-1/api/v1/remote_write" })
	require.Equal(t, Outcome{}, b.send(b.floats(3)...))
	require.EqualValues(t, 2, signed.Load(), "the retry is signed too")
	require.Zero(t, wrong.Load())

	other := newBench(t, withSigV4, func(o *DestinationOptions) { o.URL, o.SigV4.SecretKey = s.URL, "other" })
	out := other.send(other.floats(3)...)
	require.Equal(t, storage.KindUnavailable, out.Err.Kind, "a wrong key loses nobody's data")
	require.NotContains(t, out.Err.Error()+other.log.String(), "other")
	require.Positive(t, wrong.Load())
}

// authorizationV4 returns the header that proves knowledge of the secret:
// Amazon's "Create a signed AWS API request", for the headers that the request
// says are signed.
func authorizationV4(r *http.Request, body []byte) string {
	_, list, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n"
	for name := range strings.SplitSeq(list, ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + list + "\n" + hexSHA256(body)

	at := r.Header.Get("X-Amz-Date")
	day, _, _ := strings.Cut(at, "T")
	scope := day + "/eu-west-1/aps/aws4_request"
	key := []byte("AWS4" + clientSecret)
	for part := range strings.SplitSeq(scope, "/") {
		key = sumHMAC(key, part)
	}
	signature := sumHMAC(key, "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+hexSHA256([]byte(canonical)))
	return "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" + scope + ", SignedHeaders=" + list + ", Signature=" + hex.EncodeToString(signature)
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func sumHMAC(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// No way of saying who we are is said to a host that we were only sent to.
func TestRedirectTakesNoAuthorization(t *testing.T) {
	e := newTokens(t)
	for name, auth := range map[string]func(*DestinationOptions){
		"authorization": func(o *DestinationOptions) {
			o.HTTPClientConfig.Authorization = &config.Authorization{Type: "Bearer", Credentials: clientSecret}
		},
		"oauth2": e.client,
		"sigv4":  withSigV4,
	} {
		far := storagetest.NewFarEnd(t)
		from, seen := redirecting(t, http.StatusTemporaryRedirect, far.URL())
		b := newBench(t, auth, func(o *DestinationOptions) { o.URL = from })
		require.Equal(t, Outcome{}, b.send(b.floats(1)...), name)
		require.Len(t, *seen, 1, name)
		require.NotEmpty(t, (*seen)[0].Get("Authorization"), name)
		require.Len(t, far.Stored(), 1, name)
		for header := range far.Requests()[0].Header {
			require.NotEqual(t, "Authorization", header, name)
			require.False(t, strings.HasPrefix(header, "X-Amz-"), "%s: %s", name, header)
		}
	}
}
