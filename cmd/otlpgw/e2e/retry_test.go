package e2e

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// unreachable drops the connection, as a far end does that is going down.
func unreachable(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// roundTripper lets a test see each answer.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// With the far end away the client is told to come back, and its own retry
// delivers once the far end is back.
func TestExporterRetriesUntilFarEndIsBack(t *testing.T) {
	for name, exporter := range map[string]func(t *testing.T, p *process, refused func()) sdkmetric.Exporter{
		"http": func(t *testing.T, p *process, refused func()) sdkmetric.Exporter {
			client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := http.DefaultTransport.RoundTrip(r)
				if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
					refused()
				}
				return resp, err
			})}
			e, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(p.http), otlpmetrichttp.WithInsecure(),
				otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithTimeout(patience),
				otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{
					Enabled: true, InitialInterval: 10 * time.Millisecond, MaxInterval: 10 * time.Second, MaxElapsedTime: patience,
				}))
			require.NoError(t, err)
			return e
		},
		"grpc": func(t *testing.T, p *process, refused func()) sdkmetric.Exporter {
			watch := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				err := invoke(ctx, method, req, reply, cc, opts...)
				if status.Code(err) == codes.Unavailable {
					refused()
				}
				return err
			}
			e, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(p.grpc), otlpmetricgrpc.WithInsecure(),
				otlpmetricgrpc.WithDialOption(grpc.WithUnaryInterceptor(watch)), otlpmetricgrpc.WithTimeout(patience),
				otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{
					Enabled: true, InitialInterval: 10 * time.Millisecond, MaxInterval: 10 * time.Second, MaxElapsedTime: patience,
				}))
			require.NoError(t, err)
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, remoteapi.WriteV2MessageType)
			r.setDoor(unreachable)
			p := start(t, "--remote-write.url="+r.url, "--direct.ack-timeout=100ms")

			var once sync.Once
			back := func() { once.Do(func() { r.setDoor(nil) }) }
			e := exporter(t, p, back)
			require.NoError(t, pushGo(t.Context(), e, "retry-"+name))
			require.Greater(t, r.requests.Load(), int64(1), "the first attempt met a far end that was away")
			checkPushed(t, r, "retry-"+name)
			p.stop(t)
		})
	}
}
