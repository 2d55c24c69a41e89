package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// A secret that the far end has changed costs no data: clients are told to come
// back until the file has the new one, and nobody has to reload. Secrets are in
// no page and no log.
func TestSecretsInFilesRotate(t *testing.T) {
	for name, c := range map[string]struct {
		keys  string
		right func(h http.Header, secret string) bool
	}{
		"basic_auth": {"basic_auth: {username: me, password_file: FILE}", func(h http.Header, secret string) bool {
			_, password, _ := (&http.Request{Header: h}).BasicAuth()
			return password == secret
		}},
		"authorization": {"authorization: {credentials_file: FILE}", func(h http.Header, secret string) bool {
			return h.Get("Authorization") == "Bearer "+secret
		}},
		"http_headers": {"http_headers: {X-Key: {files: [FILE]}}", func(h http.Header, secret string) bool {
			return h.Get("X-Key") == secret
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "secret")
			write := func(secret string) { require.NoError(t, os.WriteFile(file, []byte(secret), 0o600)) }
			var want atomic.Value
			want.Store("swordfish")
			write("swordfish")
			far := storagetest.NewFarEnd(t)
			far.Script(func(r *storagetest.FarEndRequest) storagetest.Answer {
				if c.right(r.Header, want.Load().(string)) {
					return storagetest.Answer{}
				}
				return storagetest.Answer{Status: http.StatusUnauthorized, Body: "who are you?"}
			})
			r := serving(t, fmt.Sprintf("remote_write: [{url: %q, %s}]\n", far.URL(), strings.ReplaceAll(c.keys, "FILE", file)))
			now := time.Now().UnixMilli()
			code, body := r.push("m", "a", now)
			require.Equal(t, http.StatusOK, code, body)

			want.Store("marlin")
			code, body = r.push("m", "a", now+1)
			require.Equal(t, http.StatusServiceUnavailable, code, body)
			write("marlin")
			require.Eventually(t, func() bool {
				code, _ := r.push("m", "a", now+1)
				return code == http.StatusOK
			}, time.Minute, 50*time.Millisecond)
			require.Len(t, far.Stored(), 2)
			shown := r.get("/-/config") + r.get("/metrics") + r.log.String()
			require.NotContains(t, shown, "swordfish")
			require.NotContains(t, shown, "marlin")
		})
	}
}

// authority is a certificate authority with one server.
func authority(t *testing.T) (server tls.Certificate, ca []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// The far end gets a certificate of another authority; when the file has it, the
// data goes on, without a reload.
func TestCertificatesInFilesRotate(t *testing.T) {
	first, firstCA := authority(t)
	second, secondCA := authority(t)
	var now atomic.Pointer[tls.Certificate]
	now.Store(&first)
	far := storagetest.NewFarEnd(t)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, far.URL(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
	}))
	front.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*now.Load()}}, nil
	}}
	front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	front.StartTLS()
	t.Cleanup(front.Close)

	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, firstCA, 0o600))
	r := serving(t, fmt.Sprintf("direct: {ack_timeout: 1s}\nremote_write: [{url: %q, tls_config: {ca_file: %s}}]\n", front.URL, file))
	at := time.Now().UnixMilli()
	code, body := r.push("m", "a", at)
	require.Equal(t, http.StatusOK, code, body)

	now.Store(&second)
	front.CloseClientConnections()
	code, body = r.push("m", "a", at+1)
	require.Equal(t, http.StatusServiceUnavailable, code, body)
	require.NoError(t, os.WriteFile(file, secondCA, 0o600))
	require.Eventually(t, func() bool {
		code, _ := r.push("m", "a", at+1)
		return code == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	require.Len(t, far.Stored(), 2)
}
