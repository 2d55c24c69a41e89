package config

import (
	"encoding"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// field is one key of a block.
type field struct {
	key   string
	help  string
	index []int
	typ   reflect.Type
}

// fieldsOf returns the keys that a struct type takes, with those of inlined
// structs, and the element type of an inlined map (any other key), if any. A
// struct without yaml tags has no keys: it is a leaf with a parser of its own,
// as is everything that is no struct.
func fieldsOf(t reflect.Type) (keys []field, rest reflect.Type) {
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("yaml")
		name, opts, _ := strings.Cut(tag, ",")
		if !tagged || name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if strings.Contains(opts, "inline") {
			if f.Type.Kind() == reflect.Map {
				rest = f.Type.Elem()
				continue
			}
			inner, r := fieldsOf(f.Type)
			for _, in := range inner {
				in.index = append([]int{i}, in.index...)
				keys = append(keys, in)
			}
			if r != nil {
				rest = r
			}
			continue
		}
		keys = append(keys, field{key: name, help: f.Tag.Get("help"), index: []int{i}, typ: f.Type})
	}
	return keys, rest
}

// The two interfaces by which YAML decoding is customised; Prometheus's types
// have the older one.
type oldUnmarshaler interface {
	UnmarshalYAML(unmarshal func(any) error) error
}

var (
	unmarshalerType     = reflect.TypeFor[yaml.Unmarshaler]()
	oldUnmarshalerType  = reflect.TypeFor[oldUnmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// parsesItself reports whether decoding a t runs code of its own.
func parsesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(unmarshalerType) || p.Implements(oldUnmarshalerType) || p.Implements(textUnmarshalerType)
}
