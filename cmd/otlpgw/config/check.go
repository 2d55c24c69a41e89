package config

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"
)

// extraChecks run on blocks of which Prometheus's own check stops at the first
// fault, or lets pass what cannot work here.
var extraChecks = map[reflect.Type]func(w *walker, n *yaml.Node, path string){
	reflect.TypeFor[RemoteWrite]():    checkRemoteWrite,
	reflect.TypeFor[relabel.Config](): checkRelabel,
}

func checkRemoteWrite(w *walker, n *yaml.Node, path string) {
	type plain RemoteWrite
	r := plain(defaultRemoteWrite())
	if n.Decode(&r) != nil {
		return // the walker's own decode tells
	}
	at := func(key, value, msg string) {
		p := path + "." + key
		line, ok := w.lines[p]
		if !ok {
			line = n.Line
		}
		w.faults = append(w.faults, Fault{Line: line, Path: p, Value: value, Msg: msg})
	}
	switch u := r.Prometheus.URL; {
	case w.faulty(path + ".url"):
	case u == nil || u.URL == nil || u.String() == "":
		at("url", "", "missing; a destination needs one")
	default:
		if msg := urlProblem(u.Scheme, u.Host); msg != "" {
			at("url", u.Redacted(), msg)
		}
	}
	q := r.Prometheus.QueueConfig
	for _, k := range []struct {
		key   string
		value int
	}{
		{"max_samples_per_send", q.MaxSamplesPerSend},
		{"min_shards", q.MinShards},
		{"max_shards", q.MaxShards},
		{"capacity", q.Capacity},
	} {
		if k.value <= 0 {
			at("queue_config."+k.key, fmt.Sprint(k.value), "must be more than zero")
		}
	}
	if q.MinBackoff <= 0 || q.MinBackoff > q.MaxBackoff {
		at("queue_config.min_backoff", q.MinBackoff.String(), "must be more than zero and at most max_backoff, "+q.MaxBackoff.String())
	}
	if r.Shards <= 0 || r.Shards > maxShards {
		at("shards", fmt.Sprint(r.Shards), fmt.Sprintf("must be from 1 to %d", maxShards))
	}
	if r.Prometheus.RemoteTimeout <= 0 {
		at("remote_timeout", r.Prometheus.RemoteTimeout.String(), "must be more than zero")
	}
	if m := r.Prometheus.ProtobufMessage; m != "" {
		if err := m.Validate(); err != nil {
			at("protobuf_message", string(m), err.Error())
		}
	}
	for h := range r.Prometheus.Headers {
		switch http.CanonicalHeaderKey(h) {
		case "Content-Type", "Content-Encoding", "User-Agent", "X-Prometheus-Remote-Write-Version":
			at("headers."+h, "", "belongs to the remote-write protocol and cannot be set")
		}
	}
}

// maxShards bounds the requests in flight to one destination.
const maxShards = 4096

func checkRelabel(w *walker, n *yaml.Node, path string) {
	var r relabel.Config
	if w.faulty(path+".action") || n.Decode(&r) != nil {
		return // told already, or by the walker's own decode
	}
	if err := r.Validate(model.UTF8Validation); err != nil {
		w.fault(n, path, err.Error())
	}
}

func urlProblem(scheme, host string) string {
	switch {
	case scheme != "http" && scheme != "https":
		return "must start with http:// or https://"
	case host == "":
		return "names no host"
	}
	return ""
}

// validate looks at the values together. It calls report with the key.
func (c *Config) validate(report func(path, value, msg string)) {
	oneOf := func(path, value string, allowed ...string) {
		for _, a := range allowed {
			if value == a {
				return
			}
		}
		report(path, value, "must be "+strings.Join(allowed[:len(allowed)-1], ", ")+" or "+allowed[len(allowed)-1])
	}
	positive := func(path string, value fmt.Stringer, ok bool) {
		if !ok {
			report(path, value.String(), "must be more than zero")
		}
	}

	for _, l := range []struct{ path, address string }{
		{"http.listen_address", c.HTTP.ListenAddress},
		{"grpc.listen_address", c.GRPC.ListenAddress},
		{"admin.listen_address", c.Admin.ListenAddress},
	} {
		if l.address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(l.address); err != nil {
			report(l.path, l.address, "must be host:port or :port")
		}
	}
	if c.HTTP.ListenAddress == "" && c.GRPC.ListenAddress == "" {
		report("http.listen_address", "", "is empty and so is grpc.listen_address: nothing would receive OTLP")
	}
	for _, s := range []struct {
		path string
		size Size
	}{
		{"http.max_request_size", c.HTTP.MaxRequestSize},
		{"http.max_json_size", c.HTTP.MaxJSONSize},
		{"grpc.max_request_size", c.GRPC.MaxRequestSize},
	} {
		if s.size <= 0 || s.size > math.MaxInt32 {
			report(s.path, s.size.String(), "must be more than zero and less than 2GiB, where a protobuf message ends")
		}
	}

	switch c.Storage.Mode {
	case "", ModeLocal, ModeDirect:
	case "durable":
		report("storage.mode", c.Storage.Mode, notYet)
	default:
		oneOf("storage.mode", c.Storage.Mode, ModeLocal, ModeDirect)
	}
	if c.Mode() == ModeDirect && len(c.RemoteWrite) == 0 {
		report("storage.mode", c.Storage.Mode, "needs a destination: set --remote-write.url or remote_write in the file")
	}
	if c.Mode() == ModeLocal && c.Storage.Path == "" {
		report("storage.path", "", "must name a directory for storage.mode local")
	}
	positive("storage.tsdb.retention.time", c.Storage.TSDB.Retention.Time, c.Storage.TSDB.Retention.Time > 0)
	positive("storage.tsdb.out_of_order_time_window", c.Storage.TSDB.OutOfOrderTimeWindow, c.Storage.TSDB.OutOfOrderTimeWindow > 0)
	if c.Storage.Exemplars.MaxExemplars <= 0 {
		report("storage.exemplars.max_exemplars", fmt.Sprint(c.Storage.Exemplars.MaxExemplars), "must be more than zero")
	}
	positive("direct.ack_timeout", c.Direct.AckTimeout, c.Direct.AckTimeout > 0)
	if c.Direct.MaxTenantBytes > c.Direct.MaxPendingBytes && c.Direct.MaxPendingBytes > 0 {
		report("direct.max_tenant_bytes", c.Direct.MaxTenantBytes.String(), "must be at most direct.max_pending_bytes, "+c.Direct.MaxPendingBytes.String())
	}
	positive("shutdown.timeout", c.Shutdown.Timeout, c.Shutdown.Timeout > 0)
	oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf("log.format", c.Log.Format, "logfmt", "json")
	c.validateConversion(oneOf, report)
	c.validateDestinations(report)
	c.validateTenants(report)
}

func (c *Config) validateConversion(oneOf func(path, value string, allowed ...string), report func(path, value, msg string)) {
	oneOf("otlp.le_format", c.OTLP.LEFormat, "plain", "openmetrics")
	switch s := c.OTLP.Prometheus.TranslationStrategy; s {
	case "":
	default:
		oneOf("otlp.translation_strategy", string(s),
			string(otlptranslator.UnderscoreEscapingWithSuffixes), string(otlptranslator.UnderscoreEscapingWithoutSuffixes),
			string(otlptranslator.NoUTF8EscapingWithSuffixes), string(otlptranslator.NoTranslation))
	}
	if c.OTLP.Delta == "convert" {
		report("otlp.delta", c.OTLP.Delta, notYet+"; points of delta temporality are rejected")
	} else {
		oneOf("otlp.delta", c.OTLP.Delta, "convert", "reject")
	}
	c.validateInstanceFrom(report)
	if c.Limits.MaxFuture <= 0 {
		report("limits.max_future", c.Limits.MaxFuture.String(), "must be more than zero")
	}
	for _, l := range []struct {
		path  string
		value int
	}{
		{"limits.max_label_names_per_series", c.Limits.MaxLabelNamesPerSeries},
		{"limits.max_label_name_length", c.Limits.MaxLabelNameLength},
		{"limits.max_label_value_length", c.Limits.MaxLabelValueLength},
		{"limits.max_series_per_metric", c.Limits.MaxSeriesPerMetric},
		{"limits.max_active_series", c.Limits.MaxActiveSeries},
		{"limits.max_exemplars_per_series", c.Limits.MaxExemplarsPerSeries},
		{"limits.max_exemplars_per_request", c.Limits.MaxExemplarsPerRequest},
	} {
		if l.value < 0 {
			report(l.path, fmt.Sprint(l.value), "must not be negative; 0 is no limit")
		}
	}
	if time.Duration(c.Cache.IdleTimeout) <= 0 {
		report("cache.idle_timeout", c.Cache.IdleTimeout.String(), "must be more than zero")
	}
	if c.Cache.MaxSeries < 0 {
		report("cache.max_series", fmt.Sprint(c.Cache.MaxSeries), "must not be negative; 0 is no limit")
	}
}

func (c *Config) validateInstanceFrom(report func(path, value, msg string)) {
	const path = "otlp.instance_from"
	seen := map[string]bool{}
	for _, entry := range c.OTLP.InstanceFrom {
		if seen[entry] {
			report(path, entry, "is listed twice")
		}
		seen[entry] = true
		if entry == PeerIP {
			continue
		}
		for part := range strings.SplitSeq(entry, "+") {
			switch {
			case part == "":
				report(path, entry, "must name resource attributes, joined by + where several are needed")
			case part == PeerIP:
				report(path, entry, PeerIP+" cannot be joined with attributes; make it an entry of its own")
			case part != strings.TrimSpace(part):
				report(path, entry, "has a space before or after the name of an attribute")
			}
		}
	}
}

func (c *Config) validateDestinations(report func(path, value, msg string)) {
	if len(c.RemoteWrite) > 0 && !slices.ContainsFunc(c.RemoteWrite, func(r RemoteWrite) bool { return r.Required }) {
		report("remote_write[0].required", "false", "at least one destination must be required, or a 200 would promise nothing")
	}
	names := map[string]int{}
	for i, r := range c.RemoteWrite {
		name := r.Prometheus.Name
		if name == "" {
			continue
		}
		if first, dup := names[name]; dup {
			report(fmt.Sprintf("remote_write[%d].name", i), name, fmt.Sprintf("is the name of remote_write[%d] already", first))
			continue
		}
		names[name] = i
	}
}
