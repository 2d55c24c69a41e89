package converter

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
)

// The resource attributes that identify a target.
const (
	serviceNamespace  = "service.namespace"
	serviceName       = "service.name"
	serviceInstanceID = "service.instance.id"
)

// sender returns what is known about a resource, made on first sight, with its
// target held.
func (c *converter) sender(resource []byte) (*series.Sender[*sender], *otlp.Error) {
	raw := resource
	if c.peer != "" {
		// The address is part of who the sender is.
		c.key = append(appendField(c.key[:0], []byte(c.peer)), resource...)
		raw = c.key
	}
	for {
		s := c.tenant.Get(raw, c.epoch)
		if s == nil {
			var err *otlp.Error
			if s, err = c.newSender(raw, resource); err != nil {
				return nil, err
			}
		}
		c.hold(s.Target)
		if !s.Gone() {
			return s, nil
		}
	}
}

// newSender reads a resource whose bytes are new.
//
// Rules: compatibility/prometheus_and_openmetrics.md, "Resource Attributes".
func (c *converter) newSender(raw, resource []byte) (*series.Sender[*sender], *otlp.Error) {
	attributes, err := otlp.ParseResource(resource)
	if err != nil {
		return nil, err
	}
	c.canonical = appendField(c.canonical[:0], []byte(c.peer))
	if err := c.canonicalize(attributes); err != nil {
		return nil, err
	}
	meaning := series.DigestOf(c.canonical)
	crowded := c.crowdedAttributes

	st := &sender{tenant: c.tenant, budget: c.opts.budget, families: c.opts.families, kept: true}
	st.job, st.instance = c.identity()
	if !utf8.ValidString(st.job) || !utf8.ValidString(st.instance) || max(len(st.job), len(st.instance)) > maxLabelText {
		st.reject = ReasonLabel
	}
	if crowded {
		st.reject, st.kept = ReasonLimit, false
	}
	c.promote(st)
	c.info(st)

	c.canonical = appendField(appendField(c.canonical[:0], []byte(st.job)), []byte(st.instance))
	identity := series.DigestOf(c.canonical)
	hash := targetHash(c.tenant.Name, st.job, st.instance)
	size := senderCost + len(st.job) + len(st.instance) + int(st.info.ByteSize()) + sizeOf(st.promoted)
	if crowded {
		// Its meaning was not read to the end: it serves this request alone.
		return series.Alone(st, hash), nil
	}
	s, kept := c.tenant.Add(raw, meaning, identity, hash, c.epoch, size, st)
	if !kept {
		st.kept = false // Nobody else has seen it.
	}
	return s, nil
}

// identity returns job and instance of the attributes in c.sorting.
func (c *converter) identity() (job, instance string) {
	var namespace, name string
	for _, a := range c.sorting {
		switch string(a.key) {
		case serviceNamespace:
			namespace = string(a.value.AppendText(nil))
		case serviceName:
			name = string(a.value.AppendText(nil))
		case serviceInstanceID:
			instance = string(a.value.AppendText(nil))
		}
	}
	if instance == "" {
		instance = c.instanceFrom()
	}
	if name != "" && namespace != "" {
		return namespace + "/" + name, instance
	}
	return name, instance
}

// peerIP is the entry of Options.InstanceFrom that stands for the sender's
// address.
const peerIP = "peer_ip"

// instanceFrom builds an instance from the first entry of the option of which
// all parts are there.
func (c *converter) instanceFrom() string {
	for _, entry := range c.opts.InstanceFrom {
		if entry == peerIP {
			if c.peer != "" {
				return c.peer
			}
			continue
		}
		var parts []string
		for key := range strings.SplitSeq(entry, "+") {
			for _, a := range c.sorting {
				if v := string(a.value.AppendText(nil)); string(a.key) == key && v != "" {
					parts = append(parts, v)
					break
				}
			}
		}
		if len(parts) > strings.Count(entry, "+") {
			return strings.Join(parts, ":")
		}
	}
	return ""
}

// hostOf returns the host of an address, without port and brackets.
func hostOf(addr string) string {
	if i := strings.LastIndexByte(addr, ':'); i >= 0 && (addr[0] == '[' || strings.Count(addr, ":") == 1) {
		addr = addr[:i]
	}
	return strings.Trim(addr, "[]")
}

// promote picks the resource attributes that become labels of every series.
func (c *converter) promote(s *sender) {
	o := &c.opts.Labels
	if !o.PromoteAllResourceAttributes && len(o.PromoteResourceAttributes) == 0 {
		return
	}
	c.labels.begin()
	for _, a := range c.sorting {
		key := string(a.key)
		if o.PromoteAllResourceAttributes {
			if slices.Contains(o.IgnoreResourceAttributes, key) {
				continue
			}
		} else if !slices.Contains(o.PromoteResourceAttributes, key) {
			continue
		}
		if !c.labels.add("", a.key, a.value) {
			s.reject = ReasonLabel
		}
	}
	c.labels.merge()
	s.promoted = copyAttributes(c.labels.list)
}

// info builds the labels of the resource's target_info. There is none without
// job and instance, by which it could be joined, and none that would say
// nothing beyond them.
func (c *converter) info(s *sender) {
	o := &c.opts.Labels
	if c.opts.DisableTargetInfo || s.reject != accepted || s.job == "" && s.instance == "" {
		return
	}
	c.labels.begin()
	others := 0
	for _, a := range c.sorting {
		switch string(a.key) {
		case serviceNamespace, serviceName, serviceInstanceID:
			if !o.KeepIdentifyingResourceAttributes {
				continue
			}
		default:
			others++
		}
		// An attribute that cannot be a label is left out: target_info is
		// there to describe, and belongs to no data point.
		c.labels.add("", a.key, a.value)
	}
	if others == 0 {
		return
	}
	c.setIdentity(s)
	c.labels.merge()
	c.labels.list = slices.DeleteFunc(c.labels.list, func(a attribute) bool { return max(len(a.name), len(a.value)) > maxLabelText })
	s.info = c.relabeled(c.labels.build(c.opts.infoName, "", ""))
	if s.info.ByteSize() > maxInfoLabels {
		s.info = labels.EmptyLabels()
		c.opts.warn(warnInfo, "target_info of more than 1 MiB")
	}
}

// setIdentity adds job and instance, and renames attributes of those names.
func (c *converter) setIdentity(s *sender) {
	if s.job != "" {
		c.labels.protect(model.JobLabel)
		c.labels.set(model.JobLabel, s.job)
	}
	if s.instance != "" {
		c.labels.protect(model.InstanceLabel)
		c.labels.set(model.InstanceLabel, s.instance)
	}
}

// targetHash is FNV-1a over tenant, job and instance: the same in every process,
// since shards on disk and partitions of a log are chosen by it.
func targetHash(parts ...string) uint64 {
	h := uint64(14695981039346656037)
	var b [binary.MaxVarintLen64]byte
	for _, p := range parts {
		n := binary.PutUvarint(b[:], uint64(len(p)))
		for _, c := range b[:n] {
			h = (h ^ uint64(c)) * 1099511628211
		}
		for i := range len(p) {
			h = (h ^ uint64(p[i])) * 1099511628211
		}
	}
	return h
}
