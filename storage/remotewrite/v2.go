package remotewrite

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Encoder appends messages to buffers. Its scratch is reused, so that a warm
// one allocates nothing. It is not safe for concurrent use.
type Encoder struct {
	// What the destination is not told.
	noExemplars, noMetadata, noStart bool

	table    *Table
	symbols  symbols
	patterns cache[pattern]
	stencils cache[stencil]
	series   []byte
	head     int // the room before the series
	families map[string]struct{}

	// What the last row had, as fields: neighbours have it in common.
	t, st int64
	times []byte
	meta  *Metadata
	about []byte
	// What the last exemplar had as its nth label name.
	names []symbolName
}

type symbolName struct {
	text string
	at   uint32
}

const (
	// maxKeptScratch bounds the bytes that an encoder or sender keeps between
	// requests: a request of 2000 samples needs some hundred KiB.
	maxKeptScratch = 4 << 20
	// maxKeptSymbols bounds the symbol table likewise.
	maxKeptSymbols = 64 << 10
)

// NewEncoder returns an Encoder for series of the table.
func NewEncoder(t *Table) *Encoder {
	return &Encoder{table: t, families: map[string]struct{}{}}
}

// AppendV2 appends an io.prometheus.write.v2.Request with the rows, those of a
// series being together and in time order. It builds one TimeSeries for each
// run of rows that share series, metadata and kind: the specification forbids
// samples and histograms in one.
//
//	repeated string symbols = 4; repeated TimeSeries timeseries = 5;
func (e *Encoder) AppendV2(dst []byte, rows []Row) []byte {
	dst = append(dst, e.messageV2(rows)...)
	e.reset()
	return dst
}

// messageV2 returns the message for AppendV2, valid until the next call or reset.
func (e *Encoder) messageV2(rows []Row) []byte {
	e.symbols.begin(e.table.dict.Load())
	// Symbols come first, since receivers that decode as they read need them,
	// but are known last: there is room for as many as the last time.
	e.series = slices.Grow(e.series[:0], e.head)[:e.head]
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && sameSeriesV2(&rows[0], &rows[n]) {
			n++
		}
		e.appendSeriesV2(rows[:n])
		rows = rows[n:]
	}
	fields := e.symbols.fields
	if len(fields) > e.head {
		more := len(fields) + len(fields)/4 - e.head
		e.series = slices.Insert(e.series, 0, make([]byte, more)...)
		e.head += more
	}
	message := e.series[e.head-len(fields):]
	copy(message, fields)
	return message
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
	dst = e.appendLabelRefs(dst, first.Form)
	for i := range rows {
		if r := &rows[i]; r.isHistogram() {
			var start int
			dst, start = open(dst, 3)
			dst = appendHistogram(dst, r.H, r.FH, e.start(r), r.T)
			dst = shut(dst, start)
		} else {
			dst = e.appendSample(dst, r)
		}
	}
	if !e.noExemplars {
		for i := range rows {
			dst = e.appendExemplarsV2(dst, &rows[i])
		}
	}
	if m := first.Meta; m != nil && !e.noMetadata {
		if m != e.meta {
			e.meta, e.about = m, e.appendMetadata(e.about[:0], m)
		}
		dst = append(dst, e.about...)
	}
	e.series = shut(dst, series)
}

// start returns the row's start time, if the destination takes any.
func (e *Encoder) start(r *Row) int64 {
	if e.noStart {
		return 0
	}
	return r.ST
}

// appendSample appends a Sample as field 2.
//
//	double value = 1; int64 timestamp = 2; int64 start_timestamp = 3;
func (e *Encoder) appendSample(dst []byte, r *Row) []byte {
	if st := e.start(r); r.T != e.t || st != e.st || len(e.times) == 0 {
		e.t, e.st = r.T, st
		e.times = appendInt(e.times[:0], 2, r.T)
		e.times = appendInt(e.times, 3, st)
	}
	if bits := math.Float64bits(r.V); bits != 0 {
		dst = append(dst, 2<<3|wireBytes, byte(len(e.times)+9), 1<<3|wireI64)
		dst = binary.LittleEndian.AppendUint64(dst, bits)
	} else {
		dst = append(dst, 2<<3|wireBytes, byte(len(e.times)))
	}
	return append(dst, e.times...)
}

// appendExemplarsV2 appends the row's exemplars as fields 4.
//
//	repeated uint32 labels_refs = 1; double value = 2; int64 timestamp = 3;
func (e *Encoder) appendExemplarsV2(dst []byte, r *Row) []byte {
	for i := range r.Exemplars {
		ex := &r.Exemplars[i]
		var start int
		dst, start = open(dst, 4)
		n, refs := 0, 0
		ex.Labels.Range(func(l labels.Label) {
			if n == len(e.names) {
				e.names = append(e.names, symbolName{})
			}
			if name := &e.names[n]; name.text != l.Name {
				name.text, name.at = l.Name, e.symbols.placeOf(l.Name)
			}
			if n == 0 {
				dst, refs = open(dst, 1)
			}
			dst = binary.AppendUvarint(dst, uint64(e.names[n].at))
			dst = binary.AppendUvarint(dst, uint64(e.symbols.placeOf(l.Value)))
			n++
		})
		if n > 0 {
			dst = shut(dst, refs)
		}
		dst = appendDouble(dst, 2, ex.Value)
		dst = appendInt(dst, 3, exemplarTime(ex.HasTs, ex.Ts, r.T))
		dst = shut(dst, start)
	}
	return dst
}

// appendMetadata appends a Metadata as field 5.
//
//	MetricType type = 1; uint32 help_ref = 3; uint32 unit_ref = 4;
func (e *Encoder) appendMetadata(dst []byte, m *Metadata) []byte {
	if m.empty() {
		return dst
	}
	var help, unit uint32
	if m.dict == e.symbols.dict {
		help, unit = e.symbols.place(m.help), e.symbols.place(m.unit)
	} else {
		help, unit = e.symbols.placeOf(m.Help), e.symbols.placeOf(m.Unit)
	}
	dst, start := open(dst, 5)
	dst = appendUint(dst, 1, metricType(m.Type))
	dst = appendUint(dst, 3, uint64(help))
	dst = appendUint(dst, 4, uint64(unit))
	return shut(dst, start)
}

// exemplarTime is the exemplar's own time, or its sample's: both messages
// demand one.
func exemplarTime(has bool, ts, sample int64) int64 {
	if has || ts != 0 {
		return ts
	}
	return sample
}

// appendLabelRefs appends the labels as field 1 of a TimeSeries.
func (e *Encoder) appendLabelRefs(dst []byte, f *Form) []byte {
	t := f.template
	if t == nil || t.dict != e.symbols.dict {
		return e.appendTextRefs(dst, f.labels)
	}
	p := e.patterns.of(t)
	if p.of != t {
		p.load(t, &e.symbols)
	}
	if !p.fill(f, &e.symbols) {
		// A younger series has made one more label vary.
		p.load(t, &e.symbols)
		p.fill(f, &e.symbols)
	}
	return append(dst, p.field...)
}

// appendTextRefs is for series without numbers in the dictionary at hand.
func (e *Encoder) appendTextRefs(dst []byte, ls labels.Labels) []byte {
	if ls.IsEmpty() {
		return dst
	}
	dst, start := open(dst, 1)
	ls.Range(func(l labels.Label) {
		dst = binary.AppendUvarint(dst, uint64(e.symbols.placeOf(l.Name)))
		dst = binary.AppendUvarint(dst, uint64(e.symbols.placeOf(l.Value)))
	})
	return shut(dst, start)
}

func (e *Encoder) reset() {
	e.symbols.end()
	e.patterns.each(func(p *pattern) { p.of = nil })
	e.stencils.each(func(p *stencil) { p.of = nil })
	e.meta = nil
	clear(e.families)
	clear(e.names)
	e.names = e.names[:0]
	if cap(e.series) > maxKeptScratch {
		e.series, e.head = nil, 0
	}
}
