package direct

import (
	"context"
	"testing"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otlpgw/otlpgw/storage/remotewrite"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openTo returns a backend that sends to far. The test closes it.
func openTo(t *testing.T, far *storagetest.FarEnd, change ...func(*Options)) *Backend {
	t.Helper()
	o := Options{
		Destinations: []remotewrite.DestinationOptions{remotewrite.DefaultDestinationOptions(far.URL())},
		Lines:        4,
		Logger:       promslog.NewNopLogger(),
	}
	for _, c := range change {
		c(&o)
	}
	return open(t, o)
}

func open(t *testing.T, o Options) *Backend {
	t.Helper()
	b, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

func TestContract(t *testing.T) {
	for name, message := range map[string]remotewrite.Message{"2.0": remotewrite.MessageAuto, "1.0": remotewrite.MessageV1} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Harness {
				far := storagetest.NewFarEnd(t)
				b := openTo(t, far, func(o *Options) { o.Destinations[0].ProtobufMessage = message })
				return storagetest.Harness{
					Backend:     b,
					Read:        func(_ testing.TB, ls labels.Labels) []storagetest.Sample { return far.Read(ls) },
					InLine:      true,
					Repeats:     true,
					NoStartTime: message == remotewrite.MessageV1,
				}
			})
		})
	}
}
