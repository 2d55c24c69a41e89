package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"
)

// Loaded is a configuration without faults.
type Loaded struct {
	Config
	// Ignored lists the keys of the file that nothing here honours.
	Ignored []string
}

// Load reads the file, if file is not empty, lays the flags over it and checks
// the whole. Relative paths in the file are relative to it; external labels
// may name environment variables, which getenv resolves. When anything is
// wrong the error is a [Faults] with all of it, or that of reading the file.
func Load(file string, flags *Flags, getenv func(string) string) (*Loaded, error) {
	var data []byte
	if file != "" {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("--config.file: %w", err)
		}
	}
	l, err := parse(data, flags)
	if err != nil {
		return nil, err
	}
	for i := range l.RemoteWrite {
		l.RemoteWrite[i].Prometheus.SetDirectory(filepath.Dir(file))
	}
	l.Global.Prometheus.ExternalLabels = expand(l.Global.Prometheus.ExternalLabels, getenv)
	return l, nil
}

func parse(data []byte, flags *Flags) (*Loaded, error) {
	w := &walker{lines: map[string]int{}}
	l := &Loaded{Config: Default()}
	if root := w.document(data); root != nil {
		w.blocks(root, &l.Config)
	}
	set := map[string]string{}
	if flags != nil {
		set = flags.apply(&l.Config, w)
	}
	l.validate(func(path, value, msg string) {
		name, byFlag := set[path]
		if !byFlag && w.faulty(path) || len(l.RemoteWrite) == 0 && w.mentions("remote_write") && path == "storage.mode" {
			return // not what the operator meant
		}
		f := Fault{Line: w.lines[path], Path: path, Value: value, Msg: msg}
		if byFlag {
			f.Line, f.Path = 0, name
		}
		w.faults = append(w.faults, f)
	})
	if len(w.faults) > 0 {
		w.faults.sort()
		return nil, w.faults
	}
	for _, r := range l.MetricRelabelConfigs {
		// The walker has validated a copy; this is what else a validation does.
		r.NameValidationScheme = model.UTF8Validation
	}
	l.Ignored = w.ignored
	return l, nil
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// document parses the YAML itself and returns the top mapping, or nil.
func (w *walker) document(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && dec.Decode(&more) == nil {
		w.faults = append(w.faults, Fault{Line: more.Line, Msg: "a second document; the file must hold one"})
	}
	if err != nil {
		f := Fault{Msg: strings.TrimPrefix(err.Error(), "yaml: ")}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			f.Line, _ = strconv.Atoi(m[1])
			f.Msg = strings.TrimPrefix(err.Error(), m[0])
		}
		w.faults = append(w.faults, f)
		return nil
	}
	root := doc.Content[0]
	if root.ShortTag() == "!!null" {
		return nil
	}
	return root
}

// blocks checks the document and decodes what has no fault, so that what is
// checked later can be checked in the same run.
func (w *walker) blocks(root *yaml.Node, c *Config) {
	keys, _ := fieldsOf(reflect.TypeFor[Config]())
	if !w.mapping(root, keys, nil, "", "", 0) {
		return
	}
	clean := len(w.faults) == 0
	for i := 0; i+1 < len(root.Content); i += 2 {
		for _, f := range keys {
			if f.key != root.Content[i].Value {
				continue
			}
			dst := reflect.ValueOf(c).Elem().FieldByIndex(f.index)
			if err := root.Content[i+1].Decode(dst.Addr().Interface()); err != nil && clean {
				w.fault(root.Content[i+1], f.key, explain(err, f.typ))
			}
		}
	}
}

// mentions reports whether a key, or anything below it, has a fault.
func (w *walker) mentions(key string) bool {
	return slices.ContainsFunc(w.faults, func(f Fault) bool {
		return strings.HasPrefix(strings.ReplaceAll(strings.TrimLeft(f.Path, "-"), "-", "_"), key)
	})
}

// expand resolves $NAME and ${NAME} in external labels, as Prometheus does.
func expand(ls labels.Labels, getenv func(string) string) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	ls.Range(func(l labels.Label) {
		b.Set(l.Name, os.Expand(l.Value, func(name string) string {
			if name == "$" {
				return "$"
			}
			return getenv(name)
		}))
	})
	return b.Labels()
}
