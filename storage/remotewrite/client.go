package remotewrite

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/common/config"
	"github.com/prometheus/sigv4"
)

// maxRedirects is how often one request may be sent elsewhere, as net/http has it.
const maxRedirects = 10

// newClient returns the HTTP client of a destination.
func newClient(o *DestinationOptions, target *url.URL) (*http.Client, error) {
	if err := o.HTTPClientConfig.Validate(); err != nil {
		return nil, err
	}
	if h := o.HTTPClientConfig.HTTPHeaders; h != nil {
		if err := h.Validate(); err != nil {
			return nil, fmt.Errorf("http_headers: %w", err)
		}
	}
	home, err := config.NewRoundTripperFromConfig(o.HTTPClientConfig, o.Name)
	if err != nil {
		return nil, err
	}
	if o.SigV4 != nil {
		if home, err = sigv4.NewSigV4RoundTripper(o.SigV4, home); err != nil {
			return nil, fmt.Errorf("sigv4: %w", err)
		}
	}
	away, err := config.NewRoundTripperFromConfig(withoutCredentials(o.HTTPClientConfig), o.Name)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport:     &doorkeeper{target: target, home: home, away: away},
		CheckRedirect: checkRedirect(o, target),
	}, nil
}

// withoutCredentials keeps what says how to connect and drops what says who we
// are, client certificates included.
func withoutCredentials(c config.HTTPClientConfig) config.HTTPClientConfig {
	return config.HTTPClientConfig{
		TLSConfig: config.TLSConfig{
			CA: c.TLSConfig.CA, CAFile: c.TLSConfig.CAFile, CARef: c.TLSConfig.CARef,
			InsecureSkipVerify: c.TLSConfig.InsecureSkipVerify,
			MinVersion:         c.TLSConfig.MinVersion, MaxVersion: c.TLSConfig.MaxVersion,
		},
		FollowRedirects: c.FollowRedirects,
		EnableHTTP2:     c.EnableHTTP2,
		ProxyConfig:     c.ProxyConfig,
	}
}

// doorkeeper lets credentials out to the configured origin alone. A redirect to
// another host, port or scheme is followed without them.
type doorkeeper struct {
	target     *url.URL
	home, away http.RoundTripper
}

func (d *doorkeeper) RoundTrip(req *http.Request) (*http.Response, error) {
	if sameOrigin(req.URL, d.target) {
		return d.home.RoundTrip(req)
	}
	return d.away.RoundTrip(req)
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] through.
func (d *doorkeeper) CloseIdleConnections() {
	for _, rt := range []http.RoundTripper{d.home, d.away} {
		if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// checkRedirect follows redirects that keep method and body (307, 308). Others
// would become a GET, whose 200 for some page would pass for an acknowledgement.
func checkRedirect(o *DestinationOptions, target *url.URL) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if !o.HTTPClientConfig.FollowRedirects || req.Method != http.MethodPost {
			return http.ErrUseLastResponse
		}
		if len(via) >= maxRedirects {
			return fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		if !sameOrigin(req.URL, target) {
			for name := range o.Headers {
				req.Header.Del(name)
			}
		}
		return nil
	}
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}

// parseTarget checks a destination's URL.
func parseTarget(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// What url.Parse says repeats the URL, which may hold a password.
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("url must be http:// or https:// with a host")
	}
	return u, nil
}

// checkHeaders refuses headers that are not the user's to set.
func checkHeaders(headers map[string]string) error {
	for name := range headers {
		canonical := http.CanonicalHeaderKey(name)
		if _, reserved := config.ReservedHeaders[canonical]; reserved || canonical == retryAttemptHeader {
			return fmt.Errorf("headers: %s belongs to the protocol or to another setting and cannot be set", canonical)
		}
	}
	return nil
}
