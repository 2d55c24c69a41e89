// Package config is what the operator says: the YAML file, the flags that win
// over it, and the check that finds every fault at once.
//
// One set of structs ([Config]) is the schema of both. A field with a help tag
// is a flag too, by one rule: --a.b-c is a: {b_c: …} in the file. The blocks
// that Prometheus has as well (otlp, remote_write, global) embed Prometheus's
// own structs, so that every key of that version loads and none has to be
// listed here.
package config
