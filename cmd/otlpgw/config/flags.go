package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"

	commonconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"
)

// Flags is a parsed command line.
type Flags struct {
	// File is --config.file.
	File string

	values []flagValue
	urls   []string
}

type flagValue struct{ name, path, text string }

// ErrHelp is what ParseFlags returns for --help, after printing it.
var ErrHelp = flag.ErrHelp

// ParseFlags reads the arguments. Values are checked later, together with the
// file, by [Load]. Help goes to out.
func ParseFlags(args []string, out io.Writer) (*Flags, error) {
	f := &Flags{}
	fs := flag.NewFlagSet("otlpgw", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&f.File, "config.file", "", "")
	fs.Func("remote-write.url", "", func(s string) error {
		f.urls = append(f.urls, s)
		return nil
	})
	for _, k := range flagFields() {
		path, name := k.key, flagName(k.key)
		set := func(s string) error {
			f.values = append(f.values, flagValue{name: name, path: path, text: s})
			return nil
		}
		if k.typ.Kind() == reflect.Bool {
			fs.BoolFunc(name, "", set)
		} else {
			fs.Func(name, "", set)
		}
	}
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		printUsage(out)
		return nil, ErrHelp
	case err != nil:
		// The library writes -name; everything else here says --name.
		return nil, errors.New(strings.Replace(err.Error(), ": -", ": --", 1))
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; otlpgw --help lists what there is", fs.Arg(0))
	}
	return f, nil
}

// apply lays the flags over c and returns which keys they set, with the flag's
// name. What does not parse is noted in w.
func (f *Flags) apply(c *Config, w *walker) map[string]string {
	set := map[string]string{}
	fields := map[string]field{}
	for _, k := range flagFields() {
		fields[k.key] = k
	}
	for _, v := range f.values {
		k, name := fields[v.path], "--"+v.name
		dst := reflect.ValueOf(c).Elem().FieldByIndex(k.index)
		if k.typ.Kind() == reflect.Slice {
			if set[v.path] == "" {
				dst.SetZero() // the first replaces what the file says
			}
			dst.Set(reflect.Append(dst, reflect.ValueOf(v.text)))
			set[v.path] = name
			continue
		}
		set[v.path] = name
		if k.typ.Kind() == reflect.String && !parsesItself(k.typ) {
			dst.SetString(v.text)
			continue
		}
		n := yaml.Node{Kind: yaml.ScalarNode, Value: v.text}
		if err := n.Decode(dst.Addr().Interface()); err != nil {
			w.faults = append(w.faults, Fault{Path: name, Value: v.text, Msg: explain(err, k.typ)})
		} else if v.text == "" {
			w.faults = append(w.faults, Fault{Path: name, Msg: "needs a value"})
		}
	}
	if len(f.urls) > 0 {
		c.RemoteWrite = nil
	}
	for _, s := range f.urls {
		const name = "--remote-write.url"
		u, err := url.Parse(s)
		if err != nil {
			w.faults = append(w.faults, Fault{Path: name, Msg: "not a URL: " + explain(err, reflect.TypeFor[url.URL]())})
			continue
		}
		if msg := urlProblem(u.Scheme, u.Host); msg != "" {
			w.faults = append(w.faults, Fault{Path: name, Value: u.Redacted(), Msg: msg})
			continue
		}
		r := defaultRemoteWrite()
		r.Prometheus.URL = &commonconfig.URL{URL: u}
		c.RemoteWrite = append(c.RemoteWrite, r)
	}
	return set
}

// flagFields returns the keys that are flags too, by their path in the file,
// in the order of the structs.
func flagFields() []field {
	var out []field
	var add func(t reflect.Type, path string, index []int)
	add = func(t reflect.Type, path string, index []int) {
		keys, _ := fieldsOf(t)
		for _, k := range keys {
			k.key = join(path, k.key)
			k.index = append(index[:len(index):len(index)], k.index...)
			if k.help != "" {
				out = append(out, k)
			} else if k.typ.Kind() == reflect.Struct && strings.HasPrefix(k.typ.PkgPath(), ownPackage) {
				add(k.typ, k.key, k.index)
			}
		}
	}
	add(reflect.TypeFor[Config](), "", nil)
	return out
}

var ownPackage = reflect.TypeFor[Config]().PkgPath()

func flagName(path string) string { return strings.ReplaceAll(path, "_", "-") }

const usageHead = `otlpgw receives OpenTelemetry metrics over OTLP and stores them as Prometheus
series, in an embedded TSDB or in any Prometheus remote-write backend.

Usage:
  otlpgw [flags]             run the gateway
  otlpgw check-config FILE   check a configuration file; exit 0 or 1
  otlpgw explain [FILE|-]    print what an OTLP payload becomes; see explain --help
  otlpgw version             print the version

Every flag --a.b-c is a: {b_c: …} in the file; a flag wins over the file.

Flags:
`

func printUsage(out io.Writer) {
	var b strings.Builder
	b.WriteString(usageHead)
	line := func(name, def, help string) {
		fmt.Fprintf(&b, "  --%s", name)
		if def != "" {
			fmt.Fprintf(&b, "=%s", def)
		}
		fmt.Fprintf(&b, "\n        %s\n", help)
	}
	line("config.file", "", "Configuration file (YAML).")
	line("remote-write.url", "", "Remote-write endpoint; repeatable. Replaces remote_write of the file.")
	c := Default()
	for _, k := range flagFields() {
		def := ""
		if v := reflect.ValueOf(c).FieldByIndex(k.index); !v.IsZero() {
			def = fmt.Sprint(v.Interface())
		}
		line(flagName(k.key), def, k.help)
	}
	// Help is for people at a terminal; nobody could be told of a failed write.
	_, _ = io.WriteString(out, b.String())
}
