package remotewrite

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// dictionary numbers the strings of a [Table]: label names, label values, help
// texts and units. A number stands for one string as long as the dictionary
// lives, so that what a series refers to in a message is known once and for
// all; an [Encoder] only maps the numbers that a message uses to places in that
// message's symbol table. Several targets in one message share what they have
// in common, job names as label names.
//
// Strings are not taken out again. A table whose series come and go starts
// another dictionary when as many are gone as are there, and its series move
// when they are next used. It is safe for concurrent use.
type dictionary struct {
	mu        sync.RWMutex
	ids       map[string]uint32
	shapes    map[uint64][]*template
	metas     map[metaKey]*Metadata
	templates uint32
	key       []uint32 // scratch

	// texts is indexed by number, in pages; published before any number of a
	// page is.
	texts atomic.Pointer[[]*page]
}

type page [pageSize]string

const (
	pageBits = 9
	pageSize = 1 << pageBits
	// maxID is what a Form has room for. A string beyond it has no number, and
	// series with such a string are looked up by text in every message.
	maxID = 1<<24 - 1
)

func newDictionary() *dictionary {
	d := &dictionary{ids: map[string]uint32{}, shapes: map[uint64][]*template{}, metas: map[metaKey]*Metadata{}}
	d.texts.Store(&[]*page{})
	d.number("") // 0, as in messages
	return d
}

// text returns the string of a number.
func (d *dictionary) text(id uint32) string {
	return (*d.texts.Load())[id>>pageBits][id%pageSize]
}

// find returns the number of a string if it has one.
func (d *dictionary) find(s string) (id uint32, ok bool) {
	d.mu.RLock()
	id, ok = d.ids[s]
	d.mu.RUnlock()
	return id, ok
}

// size returns how many strings there are.
func (d *dictionary) size() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.ids)
}

// number returns the number of a string, of which it keeps a copy. It is called
// with mu held.
func (d *dictionary) number(s string) (id uint32, ok bool) {
	if id, ok := d.ids[s]; ok {
		return id, true
	}
	if len(d.ids) > maxID {
		return 0, false
	}
	id = uint32(len(d.ids))
	pages := *d.texts.Load()
	if int(id>>pageBits) == len(pages) {
		// Appending past the length that readers have seen is safe to share.
		pages = append(pages, &page{})
		d.texts.Store(&pages)
	}
	s = strings.Clone(s)
	pages[id>>pageBits][id%pageSize] = s
	d.ids[s] = id
	return id, true
}

// template is the symbols of a label set, names and values in turn. Series that
// differ in few values share one, and say where they differ.
type template struct {
	dict   *dictionary
	ids    []uint32
	number uint32 // of the dictionary's templates
	// odd says that 1.0 does not take the names of these series as they are.
	odd bool
	// varies has a bit for every label of which a series has a value of its own.
	varies atomic.Uint32
}

const (
	// maxVaries is how many values of a series may differ from its template's.
	maxVaries = 3
	// maxVaryLabel bounds the labels whose values may differ.
	maxVaryLabel = 32
	// maxTemplates bounds the templates that a new series is compared with, the
	// youngest first: series of a metric come one after the other, and the points
	// of the next metric tend to have the same attributes.
	maxTemplates = 32
)

// describe sets what f's labels are in numbers. Group tells apart series that
// have little in common, such as those of two targets.
func (d *dictionary) describe(f *Form, group uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids, ok := d.key[:0], true
	shape := group ^ 0x9e3779b97f4a7c15
	f.labels.Range(func(l labels.Label) {
		name, ok1 := d.number(l.Name)
		v, ok2 := d.number(l.Value)
		ok = ok && ok1 && ok2
		ids = append(ids, name, v)
		shape = (shape ^ uint64(name)) * 0x100000001b3
	})
	d.key = ids
	if !ok {
		return
	}
	known := d.shapes[shape]
	odd := needsEscapeV1(f.labels)
	for i := len(known) - 1; i >= 0; i-- {
		if known[i].odd == odd && f.resemble(known[i], ids) {
			return
		}
	}
	d.templates++
	t := &template{dict: d, ids: slices.Clone(ids), number: d.templates, odd: odd}
	if len(known) == maxTemplates {
		copy(known, known[1:])
		known[maxTemplates-1] = t
	} else {
		d.shapes[shape] = append(known, t)
	}
	f.template = t
}

// metaKey is what a Metadata is.
type metaKey struct {
	typ                model.MetricType
	unit, help, family string
}

// maxMetas bounds what is remembered; beyond it the memory starts anew, and the
// series keep what they have.
const maxMetas = 64 << 10

// metadata returns the one Metadata for m and family. The strings are copied.
func (d *dictionary) metadata(m metadata.Metadata, family string) *Metadata {
	key := metaKey{m.Type, m.Unit, m.Help, family}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.metas[key]; known != nil {
		return known
	}
	now := newMetadata(m, family)
	help, ok1 := d.number(now.Help)
	unit, ok2 := d.number(now.Unit)
	if ok1 && ok2 {
		now.dict, now.help, now.unit = d, help, unit
	}
	if len(d.metas) >= maxMetas {
		clear(d.metas)
	}
	d.metas[metaKey{now.Type, now.Unit, now.Help, now.Family}] = now
	return now
}
