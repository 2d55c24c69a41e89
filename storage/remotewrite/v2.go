package remotewrite

import "github.com/prometheus/prometheus/model/labels"

// Encoder appends messages to buffers. Its scratch is reused, so that a warm
// one allocates nothing. It is not safe for concurrent use.
type Encoder struct {
	symbols  map[string]uint32
	list     []string
	refs     []uint32
	series   []byte
	families map[string]struct{}

	// What the last series and the last exemplar had as their nth label. The
	// neighbours of a message differ in one or two, so that most symbols cost a
	// comparison instead of a look-up.
	lastSeries, lastExemplar []symbolPair
}

// symbolPair is a label and its refs.
type symbolPair struct {
	name, value       string
	nameRef, valueRef uint32
}

const (
	// maxKeptScratch bounds the bytes that an encoder or sender keeps between
	// requests: a request of 2000 samples needs some hundred KiB.
	maxKeptScratch = 4 << 20
	// maxKeptSymbols bounds the symbol table likewise.
	maxKeptSymbols = 64 << 10
)

// NewEncoder returns an Encoder.
func NewEncoder() *Encoder {
	return &Encoder{symbols: map[string]uint32{}, families: map[string]struct{}{}}
}

// AppendV2 appends an io.prometheus.write.v2.Request with the rows, those of a
// series being together and in time order. It builds one TimeSeries for each
// run of rows that share series, metadata and kind: the specification forbids
// samples and histograms in one.
//
//	repeated string symbols = 4; repeated TimeSeries timeseries = 5;
func (e *Encoder) AppendV2(dst []byte, rows []Row) []byte {
	e.symbol("")
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && sameSeriesV2(&rows[0], &rows[n]) {
			n++
		}
		e.appendSeriesV2(rows[:n])
		rows = rows[n:]
	}
	// Symbols come first: receivers that decode as they read need them.
	for _, s := range e.list {
		dst = appendStringAlways(dst, 4, s)
	}
	dst = append(dst, e.series...)
	e.reset()
	return dst
}

func sameSeriesV2(a, b *Row) bool {
	return a.Form == b.Form && a.Meta == b.Meta && a.isHistogram() == b.isHistogram()
}

// appendSeriesV2 appends a TimeSeries to e.series.
//
//	repeated uint32 labels_refs = 1; repeated Sample samples = 2;
//	repeated Histogram histograms = 3; repeated Exemplar exemplars = 4;
//	Metadata metadata = 5;
func (e *Encoder) appendSeriesV2(rows []Row) {
	first := &rows[0]
	dst, series := open(e.series, 5)
	dst = appendRefs(dst, 1, e.labelRefs(&e.lastSeries, first.Form.labels))
	for i := range rows {
		var start int
		if r := &rows[i]; r.isHistogram() {
			dst, start = open(dst, 3)
			dst = appendHistogram(dst, r.H, r.FH, r.ST, r.T)
		} else {
			// double value = 1; int64 timestamp = 2; int64 start_timestamp = 3;
			dst, start = open(dst, 2)
			dst = appendDouble(dst, 1, r.V)
			dst = appendInt(dst, 2, r.T)
			dst = appendInt(dst, 3, r.ST)
		}
		dst = shut(dst, start)
	}
	for i := range rows {
		for j := range rows[i].Exemplars {
			// repeated uint32 labels_refs = 1; double value = 2; int64 timestamp = 3;
			ex := &rows[i].Exemplars[j]
			var start int
			dst, start = open(dst, 4)
			dst = appendRefs(dst, 1, e.labelRefs(&e.lastExemplar, ex.Labels))
			dst = appendDouble(dst, 2, ex.Value)
			dst = appendInt(dst, 3, exemplarTime(ex.HasTs, ex.Ts, rows[i].T))
			dst = shut(dst, start)
		}
	}
	if m := first.Meta; !m.empty() {
		// MetricType type = 1; uint32 help_ref = 3; uint32 unit_ref = 4;
		var start int
		dst, start = open(dst, 5)
		dst = appendUint(dst, 1, metricType(m.Type))
		dst = appendUint(dst, 3, uint64(e.symbol(m.Help)))
		dst = appendUint(dst, 4, uint64(e.symbol(m.Unit)))
		dst = shut(dst, start)
	}
	e.series = shut(dst, series)
}

// exemplarTime is the exemplar's own time, or its sample's: both messages
// demand one.
func exemplarTime(has bool, ts, sample int64) int64 {
	if has || ts != 0 {
		return ts
	}
	return sample
}

// labelRefs returns the refs of ls, valid until the next call.
func (e *Encoder) labelRefs(last *[]symbolPair, ls labels.Labels) []uint32 {
	e.refs = e.refs[:0]
	i := 0
	ls.Range(func(l labels.Label) {
		if i == len(*last) {
			*last = append(*last, symbolPair{}) // the empty string has ref 0
		}
		p := &(*last)[i]
		if p.name != l.Name {
			p.name, p.nameRef = l.Name, e.symbol(l.Name)
		}
		if p.value != l.Value {
			p.value, p.valueRef = l.Value, e.symbol(l.Value)
		}
		e.refs = append(e.refs, p.nameRef, p.valueRef)
		i++
	})
	return e.refs
}

func (e *Encoder) symbol(s string) uint32 {
	if ref, ok := e.symbols[s]; ok {
		return ref
	}
	ref := uint32(len(e.list))
	e.symbols[s] = ref
	e.list = append(e.list, s)
	return ref
}

func (e *Encoder) reset() {
	if len(e.list) > maxKeptSymbols {
		e.symbols, e.list = map[string]uint32{}, nil
	}
	clear(e.symbols)
	clear(e.list)
	e.list = e.list[:0]
	clear(e.families)
	clear(e.lastSeries)
	clear(e.lastExemplar)
	e.lastSeries, e.lastExemplar = e.lastSeries[:0], e.lastExemplar[:0]
	if cap(e.series) > maxKeptScratch {
		e.series = nil
	}
	e.series = e.series[:0]
}
