package gateway

import (
	"errors"
	"fmt"
	"math"
)

// Settings are those of [Options] that can be changed while requests are
// served. Negative numbers are invalid; zero means the default.
type Settings struct {
	// HTTPMaxRequestSize bounds an OTLP/HTTP body, compressed and again
	// inflated, in bytes; by default 64 MiB.
	HTTPMaxRequestSize int64
	// GRPCMaxRequestSize bounds an OTLP/gRPC message, compressed and again
	// inflated, in bytes; by default 64 MiB.
	GRPCMaxRequestSize int64
	// MaxJSONSize bounds an inflated OTLP/JSON body in bytes; by default 16 MiB.
	MaxJSONSize int64

	// CORSAllowedOrigins lists the origins whose pages may send OTLP/HTTP:
	// "https://shop.example", "https://*.example", or "*" for all. Empty
	// allows none.
	CORSAllowedOrigins []string

	// PassPeer tells the Pusher from which address each request came.
	PassPeer bool

	// Tenants says whose requests are; nil is nobody's in particular.
	Tenants *Tenants
}

// Check returns all that is wrong with s.
func (s Settings) Check() error {
	_, err := s.withDefaults()
	return err
}

// withDefaults returns s with every zero replaced, or all that is wrong with it.
func (s Settings) withDefaults() (Settings, error) {
	var errs []error
	for _, v := range []struct {
		name string
		p    *int64
		def  int64
	}{
		{"HTTPMaxRequestSize", &s.HTTPMaxRequestSize, DefaultMaxRequestSize},
		{"GRPCMaxRequestSize", &s.GRPCMaxRequestSize, DefaultMaxRequestSize},
		{"MaxJSONSize", &s.MaxJSONSize, DefaultMaxJSONSize},
	} {
		if *v.p == 0 {
			*v.p = v.def
		}
		// 2 GiB is where a protobuf message ends.
		if *v.p < 0 || *v.p > math.MaxInt32 {
			errs = append(errs, fmt.Errorf("gateway.Settings.%s is %d, want 1 to %d", v.name, *v.p, math.MaxInt32))
		}
	}
	// A JSON document is a request, too.
	s.MaxJSONSize = min(s.MaxJSONSize, s.HTTPMaxRequestSize)
	for _, p := range s.CORSAllowedOrigins {
		if err := checkOrigin(p); err != nil {
			errs = append(errs, err)
		}
	}
	if s.Tenants != nil {
		if err := s.Tenants.check(); err != nil {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

// rules are the settings in force and what follows from them. A request
// follows those that it began with.
type rules struct {
	Settings
	cors    *cors
	tenancy *tenancy
}

func newRules(s Settings) *rules {
	return &rules{Settings: s, cors: newCORS(s.CORSAllowedOrigins), tenancy: newTenancy(s.Tenants)}
}

// Set changes the settings. Requests that have begun go on under the old ones.
// When it returns an error nothing has changed.
func (g *Gateway) Set(s Settings) error {
	s, err := s.withDefaults()
	if err != nil {
		return err
	}
	g.rules.Store(newRules(s))
	return nil
}
