package bench

import (
	"bytes"
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter/convertertest"
)

// What a fresh body holds where something is to be patched. All of one kind
// are equally long, so that a patch moves nothing.
const (
	timeMark  = 0x1122334455667788
	seedMark  = "SeedMark"
	freshMark = "FreshOne"
)

// encode puts a request on the wire and finds what is to be patched in it.
func (c *Corpus) encode(md pmetric.Metrics, inAscendingOrder bool) {
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	if err != nil {
		panic(err) // A corpus is code, not input.
	}
	if inAscendingOrder {
		body = ascending(body)
	}
	c.Body = body
	c.times = find(c.Body, binary.LittleEndian.AppendUint64(nil, timeMark))
	c.seeds = find(c.Body, []byte(seedMark))
	c.fresh = find(c.Body, []byte(freshMark))
	c.Renew(0)
}

func find(body, mark []byte) (at []int) {
	for i := 0; ; {
		n := bytes.Index(body[i:], mark)
		if n < 0 {
			return at
		}
		at = append(at, i+n)
		i += n + len(mark)
	}
}

// At sets the time of every point, in milliseconds, and returns the body.
func (c *Corpus) At(ms int64) []byte {
	for _, i := range c.times {
		binary.LittleEndian.PutUint64(c.Body[i:], uint64(ms)*1e6)
	}
	return c.Body
}

// Seed makes the request that of other targets: those of different seeds,
// below 10^8, share no series.
func (c *Corpus) Seed(seed int) { patch(c.Body, c.seeds, seed) }

// Renew gives the points that churn the attributes of a generation, below
// 10^8: those of different generations share no series.
func (c *Corpus) Renew(generation int) { patch(c.Body, c.fresh, generation) }

// patch writes n in eight digits to all places.
func patch(body []byte, places []int, n int) {
	var digits [8]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = '0' + byte(n%10)
		n /= 10
	}
	for _, i := range places {
		copy(body[i:], digits[:])
	}
}

// ascending encodes a request anew, fields in ascending order.
func ascending(body []byte) []byte {
	m := &colmetricspb.ExportMetricsServiceRequest{}
	if err := proto.Unmarshal(body, m); err != nil {
		panic(err) // It comes from pdata.
	}
	return convertertest.Ascending(m)
}
