package config

import (
	"maps"
	"net/url"
	"slices"
	"time"

	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	promconfig "github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"
)

// Global is Prometheus's block; only external_labels mean something here.
type Global struct {
	Prometheus promconfig.GlobalConfig `yaml:",inline"`
}

// UnmarshalYAML reads the block with Prometheus's own checks.
func (g *Global) UnmarshalYAML(n *yaml.Node) error { return n.Decode(&g.Prometheus) }

// MarshalYAML returns what is honoured.
func (g Global) MarshalYAML() (any, error) {
	return map[string]labels.Labels{"external_labels": g.Prometheus.ExternalLabels}, nil
}

// IsZero reports whether nothing of the block is honoured.
func (g Global) IsZero() bool { return g.Prometheus.ExternalLabels.IsEmpty() }

// OTLP says how OTLP becomes Prometheus: Prometheus's block and ours.
type OTLP struct {
	Prometheus promconfig.OTLPConfig `yaml:",inline"`

	LEFormat          string `yaml:"le_format" help:"How le and quantile are printed: plain (1) or openmetrics (1.0)."`
	DisableTargetInfo bool   `yaml:"disable_target_info" help:"Leave target_info out."`
	Namespace         string `yaml:"namespace,omitempty" help:"Prefix of every metric name."`
	TypeAndUnitLabels bool   `yaml:"type_and_unit_labels" help:"Add the labels __type__ and __unit__."`
	Delta             string `yaml:"delta" help:"What happens to points of delta temporality: reject."`

	// InstanceFrom lists what the instance of a resource without
	// service.instance.id is made of; the first entry that gives something
	// does. An entry is an attribute, several joined by +, or PeerIP.
	InstanceFrom []string `yaml:"instance_from,omitempty" help:"Resource attribute to make instance of where service.instance.id is missing; a+b joins two, peer_ip is the sender's address; repeatable, the first that is there wins."`
}

// PeerIP is the entry of otlp.instance_from that stands for the address from
// which a request came.
const PeerIP = "peer_ip"

// defaultOTLP is Prometheus's default but for the scope labels, which OTel's
// compatibility spec demands by default.
func defaultOTLP() OTLP {
	o := OTLP{Prometheus: promconfig.DefaultOTLPConfig, LEFormat: "plain", Delta: "reject"}
	o.Prometheus.PromoteScopeMetadata = true
	return o
}

// UnmarshalYAML reads the block over our defaults and then has Prometheus
// check its part, which also trims the attribute lists.
func (o *OTLP) UnmarshalYAML(n *yaml.Node) error {
	type plain OTLP
	*o = defaultOTLP()
	if err := n.Decode((*plain)(o)); err != nil {
		return err
	}
	scope := o.Prometheus.PromoteScopeMetadata
	if err := n.Decode(&o.Prometheus); err != nil {
		return err
	}
	o.Prometheus.PromoteScopeMetadata = scope
	return nil
}

// RemoteWrite is one destination: Prometheus's block and ours.
type RemoteWrite struct {
	Prometheus promconfig.RemoteWriteConfig `yaml:",inline"`

	// Required says that the far end must accept before the client gets its
	// 200. The failures of others are only counted.
	Required bool `yaml:"required"`

	// BatchMaxWait is how long samples wait for others to share a request with,
	// while requests are in flight. Zero waits for nobody.
	BatchMaxWait model.Duration `yaml:"batch_max_wait"`
	// Shards is how many requests may be in flight at once.
	Shards int `yaml:"shards"`

	// Capabilities says what the far end can take.
	Capabilities Capabilities `yaml:"capabilities"`
	// ZeroSamples adds a zero where a counter or histogram begins, for
	// destinations that are sent 1.0, which has no start timestamps.
	ZeroSamples bool `yaml:"zero_samples"`
}

// Capabilities says what a far end can take of what remote write can carry.
// What it cannot is left out, escaped or converted.
type Capabilities struct {
	Exemplars        bool `yaml:"exemplars"`
	NativeHistograms bool `yaml:"native_histograms"`
	// NHCB is native histograms with custom buckets; without it they travel as
	// classic ones.
	NHCB            bool `yaml:"nhcb"`
	Metadata        bool `yaml:"metadata"`
	StartTimestamps bool `yaml:"start_timestamps"`
	// UTF8Names is metric and label names beyond [a-zA-Z0-9_:]; without it they
	// are escaped.
	UTF8Names bool `yaml:"utf8_names"`
}

// defaultRemoteWrite is Prometheus's default but for three things. A gateway
// has no other copy of what it leaves out, so exemplars and native histograms
// are sent unless the file says no; and an empty protobuf_message starts with
// 2.0 and falls back to 1.0.
func defaultRemoteWrite() RemoteWrite {
	r := RemoteWrite{
		Prometheus:   promconfig.DefaultRemoteWriteConfig,
		Required:     true,
		BatchMaxWait: model.Duration(5 * time.Millisecond),
		Shards:       32,
		Capabilities: Capabilities{true, true, true, true, true, true},
	}
	r.Prometheus.SendExemplars = true
	r.Prometheus.SendNativeHistograms = true
	r.Prometheus.ProtobufMessage = ""
	return r
}

// UnmarshalYAML reads the block over our defaults and has Prometheus check its
// part.
func (r *RemoteWrite) UnmarshalYAML(n *yaml.Node) error {
	type plain RemoteWrite
	*r = defaultRemoteWrite()
	if err := n.Decode((*plain)(r)); err != nil {
		return err
	}
	var check promconfig.RemoteWriteConfig
	if err := n.Decode(&check); err != nil {
		return err
	}
	if err := check.Validate(model.UTF8Validation); err != nil {
		return err
	}
	// The check moves deprecated keys (bearer_token) to where they are read.
	check.SendExemplars = r.Prometheus.SendExemplars
	check.SendNativeHistograms = r.Prometheus.SendNativeHistograms
	check.ProtobufMessage = r.Prometheus.ProtobufMessage
	r.Prometheus = check
	return nil
}

// redacted returns a copy that may be shown. Prometheus's Secret types and the
// passwords in URLs hide themselves; header values and query parameters, which
// carry keys just as well, are hidden here.
func (r RemoteWrite) redacted() RemoteWrite {
	p := &r.Prometheus
	p.Headers = maps.Clone(p.Headers)
	for k := range p.Headers {
		p.Headers[k] = hidden
	}
	p.URL = redactQuery(p.URL)
	if h := p.HTTPClientConfig.HTTPHeaders; h != nil {
		p.HTTPClientConfig.HTTPHeaders = &commonconfig.Headers{Headers: maps.Clone(h.Headers)}
		for k, v := range h.Headers {
			v.Values = hideAll(v.Values)
			p.HTTPClientConfig.HTTPHeaders.Headers[k] = v
		}
	}
	if o := p.HTTPClientConfig.OAuth2; o != nil {
		c := *o
		if u, err := url.Parse(c.TokenURL); err == nil {
			c.TokenURL = redactQuery(&commonconfig.URL{URL: u}).Redacted()
		}
		c.EndpointParams = maps.Clone(c.EndpointParams)
		for k := range c.EndpointParams {
			c.EndpointParams[k] = hidden
		}
		p.HTTPClientConfig.OAuth2 = &c
	}
	if s := p.SigV4Config; s != nil && s.AccessKey != "" {
		c := *s
		c.AccessKey = hidden
		p.SigV4Config = &c
	}
	return r
}

// ShownURL returns the destination's URL without what may be a secret.
func (r *RemoteWrite) ShownURL() string {
	if r.Prometheus.URL == nil {
		return ""
	}
	return redactQuery(r.Prometheus.URL).Redacted()
}

// hidden stands for a secret.
const hidden = "<secret>"

func hideAll(values []string) []string {
	out := make([]string, len(values))
	for i := range out {
		out[i] = hidden
	}
	return out
}

func redactQuery(u *commonconfig.URL) *commonconfig.URL {
	if u == nil || u.URL == nil || u.RawQuery == "" {
		return u
	}
	c := *u.URL
	q := url.Values{}
	for _, k := range slices.Sorted(maps.Keys(c.Query())) {
		q.Set(k, "xxxxx")
	}
	c.RawQuery = q.Encode()
	return &commonconfig.URL{URL: &c}
}
