package gateway

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsDefaults(t *testing.T) {
	o, err := Options{Pusher: &recorder{}}.withDefaults()
	require.NoError(t, err)
	require.EqualValues(t, 64<<20, o.HTTPMaxRequestSize)
	require.EqualValues(t, 64<<20, o.GRPCMaxRequestSize)
	require.EqualValues(t, 16<<20, o.MaxJSONSize)
	require.EqualValues(t, 256<<20, o.MaxInFlightBytes)
	require.EqualValues(t, 5, o.JSONWeight)
	require.Equal(t, 2*runtime.GOMAXPROCS(0), o.ConversionSlots)
	require.Equal(t, 5*time.Second, o.SlotWait)
	require.Equal(t, time.Minute, o.RequestTimeout)
	require.NotNil(t, o.Logger)
	require.NotNil(t, o.Gatherer)
	require.NoError(t, o.Ready())

	o, err = Options{Pusher: &recorder{}, Settings: Settings{HTTPMaxRequestSize: 1 << 20}}.withDefaults()
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, o.MaxJSONSize, "a JSON document is a request")
}

func TestOptionsFaultsComeTogether(t *testing.T) {
	_, err := New(Options{
		Settings:         Settings{HTTPMaxRequestSize: -1, GRPCMaxRequestSize: 1 << 40, CORSAllowedOrigins: []string{"shop.example"}},
		MaxInFlightBytes: -1, ConversionSlots: -1, SlotWait: -1,
	})
	for _, s := range []string{"Pusher", "HTTPMaxRequestSize", "GRPCMaxRequestSize", "MaxInFlightBytes", "ConversionSlots", "SlotWait", "shop.example"} {
		require.ErrorContains(t, err, s)
	}
}
