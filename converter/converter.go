package converter

import (
	"math"

	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/pool"
	"github.com/otlpgw/otlpgw/storage"
)

// converter turns one request into one storage transaction. It is pooled: what
// belongs to a request is set by begin and cleared by reset, and nothing of a
// request survives in it.
type converter struct {
	opts *settings

	// The request.
	body     []byte
	app      promstorage.AppenderV2
	targeter storage.TargetAppender
	tenant   *series.Tenant[*sender]
	peer     string // the sender's address, if instance_from uses it
	txn      uint32
	epoch    uint32
	nowMs    int64
	// Points at these times are neither too old nor too new.
	oldestMs, newestMs int64

	// held is the locked target. Exactly one is locked during the walk. Place is
	// the transaction's place in its line.
	held  *series.Target
	place int
	// heldFrom is what was staged when it was locked, and returned whether some of
	// that is the target's own.
	heldFrom int
	returned answer

	report   report
	detail   string // more about why the point at hand is rejected
	denial   string // why the tenant at hand is not served; see tenant.go
	hits     int
	misses   int
	repeated int

	// What is staged; see stage.go.
	staged    []staged
	families  []*family              // of what is staged, in its order
	natives   []*histogram.Histogram // native histograms among the values
	values    []uint64
	exemplars []exemplar.Exemplar
	ranges    []exemplarRange
	unsorted  bool
	about     promstorage.AppendV2Options // what the store is told beside a sample
	seen      map[offer]uint64
	loose     map[uint64]*series.Record
	built     int // bytes of new series, for the bound on a request

	// Decode scratch.
	resourceScratch, scopeScratch, pointScratch otlp.Scratch

	labels    labelBuilder
	relabeler labels.Builder
	namer     otlptranslator.MetricNamer
	unitNamer otlptranslator.UnitNamer
	key       []byte
	canonical []byte
	sorting   []canonicalAttribute
	// crowdedAttributes says that sorting did not take all.
	crowdedAttributes bool
	verdicts          []series.Verdict
	counts            []uint64
	positives         int // how many of counts are positive buckets
	placed            []placed
	taken             int // how many of placed were taken
	slab              slab
}

// Caps on what a pooled converter keeps between requests. What one huge request
// needed is dropped with it; a Collector's usual batch of 8192 points fits, and
// so does each of them being a histogram of 17 series. That is 3 MiB.
const (
	maxKeptPoints  = 16 << 10
	maxKeptSamples = 256 << 10
	maxKeptBytes   = 64 << 10
	maxKeptValues  = 4 << 10
)

func newConverter(o *settings) *converter {
	return &converter{
		opts:      o,
		labels:    labelBuilder{namer: o.labelNamer, names: make(map[string]string), warn: o.warn},
		namer:     o.metricNamer,
		unitNamer: otlptranslator.UnitNamer{},
		seen:      make(map[offer]uint64),
		loose:     make(map[uint64]*series.Record),
	}
}

// begin installs the request and the transaction it goes to.
func (c *converter) begin(body []byte, app promstorage.AppenderV2, tenant *series.Tenant[*sender], txn, epoch uint32, nowMs int64) {
	c.body, c.app, c.tenant, c.txn, c.epoch, c.nowMs = body, app, tenant, txn, epoch, nowMs
	c.targeter, _ = app.(storage.TargetAppender)
	c.newestMs, c.oldestMs = nowMs+c.opts.maxFutureMs, math.MinInt64
	if c.opts.maxAgeMs > 0 {
		c.oldestMs = nowMs - c.opts.maxAgeMs
	}
	c.slab.begin()
}

// reset clears every reference to the request and drops what grew beyond its
// cap. It reports whether the converter is worth keeping: always, since what
// may grow is dropped one by one.
func (c *converter) reset() bool {
	c.body, c.app, c.targeter, c.tenant, c.held = nil, nil, nil, nil, nil
	c.report.reset()
	c.about = promstorage.AppendV2Options{}
	c.detail, c.denial, c.peer = "", "", ""
	c.hits, c.misses, c.repeated, c.place, c.unsorted = 0, 0, 0, 0, false
	c.oldestMs, c.newestMs, c.heldFrom, c.returned = 0, 0, 0, unknown
	c.positives, c.taken, c.built = 0, 0, 0

	c.staged = trim(c.staged, maxKeptPoints)
	c.families = trim(c.families, maxKeptValues)
	c.natives = trim(c.natives, maxKeptValues)
	c.values = trim(c.values, maxKeptSamples)
	c.exemplars = trim(c.exemplars, maxKeptValues)
	c.ranges = trim(c.ranges, maxKeptValues)
	c.sorting = trim(c.sorting, maxKeptValues)
	c.counts = trim(c.counts, maxKeptValues)
	c.verdicts = trim(c.verdicts, maxKeptValues)
	c.placed = trim(c.placed, maxKeptValues)
	c.key = trimBytes(c.key)
	c.canonical = trimBytes(c.canonical)
	c.resourceScratch.Trim()
	c.scopeScratch.Trim()
	c.pointScratch.Trim()

	c.relabeler.Reset(labels.EmptyLabels())
	c.labels.reset()
	c.labels.list = trim(c.labels.list, maxKeptValues)
	c.labels.text = trimBytes(c.labels.text)
	if len(c.seen) > 0 {
		c.seen = make(map[offer]uint64)
	}
	if len(c.loose) > 0 {
		c.loose = make(map[uint64]*series.Record)
	}
	return true
}

// trim empties a slice so that nothing is reachable through it, and drops it
// when it outgrew its cap.
func trim[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	clear(s)
	return s[:0]
}

// trimBytes is trim for bytes, which hold no references but may be looked at
// by a view that outlived the request.
func trimBytes(b []byte) []byte {
	if pool.Poisoned {
		pool.Poison(b[:cap(b)])
	}
	if cap(b) > maxKeptBytes {
		return nil
	}
	return b[:0]
}

// hold locks a target and unlocks the one that was locked before: one at a
// time, so that there is no order to get wrong. Under the lock the transaction
// takes its place in the target's line.
func (c *converter) hold(t *series.Target) {
	if c.held == t {
		return
	}
	c.unhold()
	t.Lock()
	c.held, c.heldFrom, c.returned = t, len(c.staged), unknown
	if c.targeter != nil {
		c.place = c.targeter.Target(t.Hash)
	}
}

func (c *converter) unhold() {
	if c.held != nil {
		c.held.Unlock()
		c.held = nil
	}
}

// decodeError says where in the request a fault lies.
func (c *converter) decodeError(e *otlp.Error) error {
	return &DecodeError{Offset: max(0, e.Offset(c.body)), Path: e.Message, Msg: e.Msg}
}
