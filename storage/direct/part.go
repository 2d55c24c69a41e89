package direct

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// part is the samples of one transaction that belong to one line, and their
// place in that line of every destination. The transaction fills it; once it is
// sealed, nobody changes it until the last holder lets go.
type part struct {
	b         *Backend
	line      int
	tenant    *tenant
	samples   []remotewrite.Sample
	exemplars []exemplar.Exemplar
	reserved  int64 // bytes, of which used are used
	used      int64
	places    []place // by destination

	// Set when sealed.
	since      time.Time
	deadline   time.Time
	settlement *settlement

	// holders is the transaction and the places; the last one to let go puts
	// the part back.
	holders atomic.Int32
}

const (
	// maxKeptSamples bounds the memory that a part keeps for the next
	// transaction: some batches of an SDK.
	maxKeptSamples = 16 << 10
	// reserveStep is how many bytes a part reserves at once, so that not every
	// append goes to the shared counter.
	reserveStep = 4 << 10

	sampleBytes = int64(unsafe.Sizeof(remotewrite.Sample{}))
)

func (p *part) reset() bool {
	keep := cap(p.samples) <= maxKeptSamples && cap(p.exemplars) <= maxKeptSamples
	clear(p.samples)
	clear(p.exemplars)
	p.samples, p.exemplars = p.samples[:0], p.exemplars[:0]
	p.b, p.settlement, p.tenant = nil, nil, nil
	p.reserved, p.used = 0, 0
	p.since, p.deadline = time.Time{}, time.Time{}
	clear(p.places)
	return keep
}

// letGo is called by every holder, once.
func (p *part) letGo() {
	if p.holders.Add(-1) > 0 {
		return
	}
	b := p.b
	b.pending.Add(-p.reserved)
	p.tenant.pending.Add(-p.reserved)
	b.parts.Put(p)
}

// keep copies exemplars, which are the caller's.
func (p *part) keep(exemplars []exemplar.Exemplar) []exemplar.Exemplar {
	if len(exemplars) == 0 {
		return nil
	}
	start := len(p.exemplars)
	p.exemplars = append(p.exemplars, exemplars...)
	n := len(p.exemplars)
	return p.exemplars[start:n:n]
}

// sizeOf estimates what a sample holds, beside its series.
func sizeOf(h *histogram.Histogram, fh *histogram.FloatHistogram, exemplars []exemplar.Exemplar) int64 {
	n := sampleBytes
	for i := range exemplars {
		n += int64(unsafe.Sizeof(exemplars[i])) + int64(exemplars[i].Labels.ByteSize())
	}
	switch {
	case fh != nil:
		n += int64(fh.Size())
	case h != nil:
		n += int64(unsafe.Sizeof(*h)) + int64(8*(len(h.PositiveSpans)+len(h.NegativeSpans)+len(h.PositiveBuckets)+len(h.NegativeBuckets)+len(h.CustomValues)))
	}
	return min(n, math.MaxInt32)
}
