package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMerges bounds how deep one <<: may lead to another. The schema bounds all
// other nesting.
const maxMerges = 8

// walker compares a document with the schema and notes every fault it meets.
// A fault in one key does not stop the look at the next.
type walker struct {
	faults  Faults
	ignored []string
	// lines remembers where each key was, for faults that are found later.
	lines map[string]int
}

func (w *walker) fault(n *yaml.Node, path, msg string) {
	f := Fault{Line: n.Line, Path: path, Msg: msg}
	if n.Kind == yaml.ScalarNode {
		f.Value = n.Value
	}
	w.faults = append(w.faults, f)
}

// check compares n with t and reports whether what is left of n can be
// decoded: keys with a fault are taken out of their block, so that the rest can
// still be looked at as a whole. Path is how the operator would name n, and key
// the same without list indices, which is how the tables of special keys name
// it.
func (w *walker) check(n *yaml.Node, t reflect.Type, path, key string) (ok bool) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.ShortTag() == "!!null" {
		return true // an empty key leaves the default
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch keys, rest := fieldsOf(t); {
	case len(keys) > 0 || rest != nil:
		return w.block(n, t, keys, rest, path, key)
	case parsesItself(t):
		return w.decode(n, t, path)
	case t.Kind() == reflect.Slice:
		return w.list(n, t.Elem(), path, key)
	case t.Kind() == reflect.Map:
		return w.mapping(n, nil, t.Elem(), path, key, 0)
	}
	return w.decode(n, t, path)
}

// block looks at the keys of a struct and then at the struct as a whole.
func (w *walker) block(n *yaml.Node, t reflect.Type, keys []field, rest reflect.Type, path, key string) bool {
	before := len(w.faults)
	if !w.mapping(n, keys, rest, path, key, 0) {
		return false
	}
	if extra := extraChecks[t]; extra != nil {
		extra(w, n, path)
	}
	if len(w.faults) > before || !parsesItself(t) {
		return true // its own check would repeat what is said
	}
	return w.decode(n, t, path)
}

func (w *walker) list(n *yaml.Node, elem reflect.Type, path, key string) (ok bool) {
	if n.Kind != yaml.SequenceNode {
		w.fault(n, path, "must be a list")
		return false
	}
	ok = true
	for i, item := range n.Content {
		p := fmt.Sprintf("%s[%d]", path, i)
		if item.ShortTag() == "!!null" {
			w.fault(item, p, "is empty")
			ok = false
			continue
		}
		ok = w.check(item, elem, p, key) && ok
	}
	return ok
}

// mapping looks at the keys of a block and takes out those that are no good.
func (w *walker) mapping(n *yaml.Node, keys []field, rest reflect.Type, path, key string, merges int) bool {
	if n.Kind != yaml.MappingNode {
		w.fault(n, path, "must be a block of keys")
		return false
	}
	seen := map[string]int{}
	var good []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.ShortTag() == "!!merge" && path != "" {
			if w.merge(v, keys, rest, path, key, merges+1) {
				good = append(good, k, v)
			}
			continue
		}
		p, plain := join(path, k.Value), join(key, k.Value)
		if line, dup := seen[k.Value]; dup {
			w.faults = append(w.faults, Fault{Line: k.Line, Path: p, Msg: fmt.Sprintf("appears twice, first in line %d", line)})
			continue
		}
		seen[k.Value] = k.Line
		w.lines[p] = k.Line
		if t := w.typeOf(k, keys, rest, p, plain); t != nil && w.check(v, t, p, plain) {
			good = append(good, k, v)
		}
	}
	n.Content = good
	return true
}

// merge looks at what <<: brings in: a block or a list of blocks.
func (w *walker) merge(v *yaml.Node, keys []field, rest reflect.Type, path, key string, merges int) bool {
	if merges > maxMerges {
		w.fault(v, path, "merges what merges itself")
		return false
	}
	for v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v.Kind == yaml.SequenceNode {
		ok := true
		for _, item := range v.Content {
			ok = w.merge(item, keys, rest, path, key, merges+1) && ok
		}
		return ok
	}
	return w.mapping(v, keys, rest, path, key, merges)
}

// typeOf finds the type behind a key, or notes what is wrong with the key.
func (w *walker) typeOf(k *yaml.Node, keys []field, rest reflect.Type, path, plain string) reflect.Type {
	for _, f := range keys {
		if f.key == k.Value && !later[plain] {
			if isIgnored(plain) {
				w.ignored = append(w.ignored, path)
			}
			return f.typ
		}
	}
	if rest != nil {
		return rest
	}
	msg := "unknown key"
	switch {
	case later[plain]:
		msg = notYet
	case foreign[plain]:
		msg = "otlpgw does not do what this block of a Prometheus file asks for; remove it"
	default:
		if near := nearest(k.Value, keys); near != "" {
			msg += fmt.Sprintf("; did you mean %s?", near)
		}
	}
	w.faults = append(w.faults, Fault{Line: k.Line, Path: path, Msg: msg})
	return nil
}

func isIgnored(plain string) bool {
	return ignored[plain] || strings.HasPrefix(plain, "global.") && plain != "global.external_labels"
}

// decode tries n on a value of type t.
func (w *walker) decode(n *yaml.Node, t reflect.Type, path string) bool {
	v := reflect.New(t)
	if err := n.Decode(v.Interface()); err != nil {
		w.fault(n, path, explain(err, t))
		return false
	}
	return true
}

// faulty reports whether path, or a block that it is in, has a fault already.
func (w *walker) faulty(path string) bool {
	return slices.ContainsFunc(w.faults, func(f Fault) bool {
		return f.Path == path || strings.HasPrefix(path, f.Path+".") || strings.HasPrefix(path, f.Path+"[")
	})
}

var yamlPrefix = regexp.MustCompile(`^(yaml: )?(unmarshal errors:\s*)?(line \d+: )?`)

// explain says in an operator's words why a value does not fit.
func explain(err error, t reflect.Type) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the URL, which may hold a password
	}
	var te *yaml.TypeError
	if errors.As(err, &te) {
		switch t.Kind() {
		case reflect.Bool:
			return "must be true or false"
		case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
			if !parsesItself(t) {
				return "must be a whole number"
			}
		case reflect.Float64:
			return "must be a number"
		case reflect.String:
			return "must be a single value"
		}
	}
	return yamlPrefix.ReplaceAllString(err.Error(), "")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// nearest returns the key that k is probably meant to be: the same but for
// case, dashes and at most two slips.
func nearest(k string, keys []field) string {
	best, most := "", 3
	norm := strings.ReplaceAll(strings.ToLower(k), "-", "_")
	for _, f := range keys {
		if d := distance(norm, f.key); d < most && d < len(f.key)/2 {
			best, most = f.key, d
		}
	}
	return best
}

// distance is Levenshtein's, in bytes, of the first 64.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
