package remotewrite

import "encoding/binary"

// symbols is the symbol table of the message that is being written. Strings
// that the dictionary knows are found by their number; others, such as trace
// ids, by text.
type symbols struct {
	dict   *dictionary
	places []uint32 // by number: the place in the message, 0 if it has none yet
	used   []uint32 // the numbers that have one
	count  uint32
	fields []byte // the table, as fields of the message

	others map[string]uint32
}

// begin starts a message, with the numbers of dict.
func (s *symbols) begin(dict *dictionary) {
	if s.dict != dict {
		s.dict, s.places = dict, s.places[:0]
	}
	if have, want := len(s.places), dict.size(); have < want {
		// Beyond what was there before, memory may hold another dictionary's.
		s.places = append(s.places, make([]uint32, max(want-have, have/2))...)
	}
	s.fields = appendStringAlways(s.fields[:0], 4, "")
	s.count = 1
}

// place returns the place of the string with that number.
func (s *symbols) place(id uint32) uint32 {
	if int(id) < len(s.places) {
		if at := s.places[id]; at != 0 {
			return at
		}
	} else {
		s.places = append(s.places, make([]uint32, int(id)+1-len(s.places))...)
	}
	if id == 0 {
		return 0
	}
	at := s.add(s.dict.text(id))
	s.places[id] = at
	s.used = append(s.used, id)
	return at
}

// placeOf returns the place of any string.
func (s *symbols) placeOf(text string) uint32 {
	if text == "" {
		return 0
	}
	if at, ok := s.others[text]; ok {
		return at
	}
	if id, ok := s.dict.find(text); ok {
		return s.place(id)
	}
	at := s.add(text)
	if s.others == nil {
		s.others = map[string]uint32{}
	}
	s.others[text] = at
	return at
}

func (s *symbols) add(text string) uint32 {
	s.fields = appendStringAlways(s.fields, 4, text)
	s.count++
	return s.count - 1
}

// end forgets the message.
func (s *symbols) end() {
	for _, id := range s.used {
		s.places[id] = 0
	}
	s.used = s.used[:0]
	if len(s.others) > maxKeptSymbols {
		s.others = nil
	}
	clear(s.others)
	if cap(s.fields) > maxKeptScratch {
		s.fields = nil
	}
}

// cache holds what the last templates are in the message at hand: those of
// neighbours alternate, such as that of a histogram's buckets and that of its sum.
type cache[T any] struct {
	slots [cacheSlots]T
	used  []uint8
	taken [cacheSlots]bool
}

const cacheSlots = 64

// of returns the slot for t, which may be another template's.
func (c *cache[T]) of(t *template) *T {
	n := t.number % cacheSlots
	if !c.taken[n] {
		c.taken[n] = true
		c.used = append(c.used, uint8(n))
	}
	return &c.slots[n]
}

// each calls f for the slots in use, and frees them.
func (c *cache[T]) each(f func(*T)) {
	for _, n := range c.used {
		f(&c.slots[n])
		c.taken[n] = false
	}
	c.used = c.used[:0]
}

// pattern is a template as the message has it: the field with the label refs of
// the series written last, in which the next one changes what differs.
type pattern struct {
	of    *template
	field []byte // tag, length and refs
	gaps  []gap
	fixed []byte // the refs outside of the gaps
}

// gap is where series have values of their own.
type gap struct {
	label  uint32
	common uint32 // the number of the template's own value
	end    int    // of the fixed bytes before it
	id, at uint32 // the value of the last series, and its place
	start  int    // in field
	size   int    // of the place as a varint
}

func (p *pattern) load(t *template, s *symbols) {
	p.of = t
	varies := t.varies.Load()
	p.fixed, p.gaps = p.fixed[:0], p.gaps[:0]
	for i := 0; i < len(t.ids); i += 2 {
		p.fixed = binary.AppendUvarint(p.fixed, uint64(s.place(t.ids[i])))
		if label := uint32(i / 2); label < maxVaryLabel && varies&(1<<label) != 0 {
			p.gaps = append(p.gaps, gap{label: label, common: t.ids[i+1], end: len(p.fixed)})
			continue
		}
		p.fixed = binary.AppendUvarint(p.fixed, uint64(s.place(t.ids[i+1])))
	}
	p.field = p.field[:0]
}

// fill makes field that of f, whose template is that of p. It returns false if
// p has no gap where f needs one.
func (p *pattern) fill(f *Form, s *symbols) bool {
	// Gaps and variations both ascend by label.
	v, moved := 0, len(p.field) == 0
	label, id := f.variation(0)
	for i := range p.gaps {
		g := &p.gaps[i]
		own := g.common
		if id != 0 && label == g.label {
			own = id
			if v++; v < maxVaries {
				label, id = f.variation(v)
			} else {
				id = 0
			}
		}
		if own == g.id {
			continue
		}
		g.id, g.at = own, s.place(own)
		switch size := uvarintLen(uint64(g.at)); {
		case size != g.size:
			g.size, moved = size, true
		case !moved:
			binary.PutUvarint(p.field[g.start:], uint64(g.at))
		}
	}
	if id != 0 {
		return false
	}
	if moved {
		p.write()
	}
	return true
}

// write makes field anew.
func (p *pattern) write() {
	length := len(p.fixed)
	for i := range p.gaps {
		length += p.gaps[i].size
	}
	p.field = append(p.field[:0], 1<<3|wireBytes)
	p.field = binary.AppendUvarint(p.field, uint64(length))
	from := 0
	for i := range p.gaps {
		g := &p.gaps[i]
		p.field = append(p.field, p.fixed[from:g.end]...)
		g.start = len(p.field)
		p.field = binary.AppendUvarint(p.field, uint64(g.at))
		from = g.end
	}
	p.field = append(p.field, p.fixed[from:]...)
}
