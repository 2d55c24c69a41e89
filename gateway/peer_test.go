package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"

	"github.com/otlpgw/otlpgw/converter"
)

// peers notes from where requests came.
type peers chan string

func (p peers) Push(_ context.Context, r converter.Request) (converter.Report, error) {
	p <- r.Peer
	return converter.Report{}, nil
}

// The sender's address is passed on where it is wanted, on both transports.
func TestPassPeer(t *testing.T) {
	for _, pass := range []bool{true, false} {
		seen := make(peers, 2)
		g := start(t, Options{Pusher: seen, Settings: Settings{PassPeer: pass}})
		require.Equal(t, http.StatusOK, g.post("/v1/metrics", nil, "Content-Type", protobufType).code)
		_, err := colpb.NewMetricsServiceClient(g.conn).Export(t.Context(), &colpb.ExportMetricsServiceRequest{})
		require.NoError(t, err)
		for range 2 {
			from := <-seen
			if !pass {
				require.Empty(t, from)
				continue
			}
			host, _, err := net.SplitHostPort(from)
			require.NoError(t, err)
			require.Equal(t, "127.0.0.1", host)
		}
	}
}

// Pages of other rooms are served and listed.
func TestPages(t *testing.T) {
	g := start(t, Options{Pusher: make(peers), Pages: []Page{{
		Path: "/debug/conflicts", What: "what senders disagree on",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }),
	}}})
	for path, want := range map[string]string{"/debug/conflicts": "[]", "/": "what senders disagree on"} {
		resp, err := g.client.Get(g.admin + path)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.True(t, strings.Contains(string(body), want), string(body))
	}
}
