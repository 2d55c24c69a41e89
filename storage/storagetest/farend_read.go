package storagetest

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gogo/protobuf/proto"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

const (
	mediaV1 = "application/x-protobuf"
	mediaV2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
)

// readFarEndRequest decodes a request and returns which rules it breaks.
func readFarEndRequest(r *http.Request) (*FarEndRequest, []string) {
	req := &FarEndRequest{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Metadata: map[string]metadata.Metadata{}}
	var faults []string
	faultf := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if r.Method != http.MethodPost {
		faultf("method %s", r.Method)
	}
	version := r.Header.Get("X-Prometheus-Remote-Write-Version")
	switch media := r.Header.Get("Content-Type"); {
	case media == mediaV2 && version == "2.0.0":
		req.V2 = true
	case media == mediaV1 && version == "0.1.0":
	default:
		faultf("Content-Type %q with version %q", media, version)
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "snappy" {
		faultf("Content-Encoding %q", enc)
	}
	if agent := r.Header.Get("User-Agent"); !strings.Contains(agent, "/") {
		faultf("User-Agent %q has no name and version", agent)
	}

	var err error
	if req.Body, err = io.ReadAll(r.Body); err != nil {
		return req, faults // the sender went away
	}
	raw, err := snappy.Decode(nil, req.Body)
	if err != nil {
		faultf("body: %s", err)
		return req, faults
	}
	if req.V2 {
		req.readV2(raw, faultf)
	} else {
		req.readV1(raw, faultf)
	}
	last := map[string]int64{}
	for _, s := range req.Samples {
		key := s.Labels.String()
		if t, ok := last[key]; ok && s.T < t {
			faultf("samples of %s are not in time order", key)
		}
		last[key] = s.T
	}
	return req, faults
}

func (r *FarEndRequest) readV1(raw []byte, faultf func(string, ...any)) {
	var m prompb.WriteRequest
	if err := proto.Unmarshal(raw, &m); err != nil {
		faultf("message 1.0: %s", err)
		return
	}
	b := labels.NewScratchBuilder(0)
	for _, ts := range m.Timeseries {
		pairs := make([]string, 0, 2*len(ts.Labels))
		for _, l := range ts.Labels {
			pairs = append(pairs, l.Name, l.Value)
			if !model.LegacyValidation.IsValidLabelName(l.Name) {
				faultf("label name %q is not one of 1.0", l.Name)
			}
			if l.Name == model.MetricNameLabel && !model.LegacyValidation.IsValidMetricName(l.Value) {
				faultf("metric name %q is not one of 1.0", l.Value)
			}
		}
		checkPairs(pairs, faultf)
		ls := ts.ToLabels(&b, nil)
		var exemplars []exemplar.Exemplar
		for _, e := range ts.Exemplars {
			exemplars = append(exemplars, e.ToExemplar(&b, nil))
		}
		var out []Sample
		for _, s := range ts.Samples {
			out = append(out, Sample{Labels: ls, T: s.Timestamp, V: s.Value})
		}
		for _, h := range ts.Histograms {
			s := Sample{Labels: ls, T: h.Timestamp}
			if h.IsFloatHistogram() {
				s.FH = h.ToFloatHistogram()
			} else {
				s.H = h.ToIntHistogram()
			}
			if h.Schema == -53 {
				faultf("a histogram with custom buckets in a message of 1.0")
			}
			out = append(out, s)
		}
		r.add(ls, out, exemplars, len(ts.Samples) > 0 && len(ts.Histograms) > 0, faultf)
	}
	for _, md := range m.Metadata {
		if _, twice := r.Metadata[md.MetricFamilyName]; twice {
			faultf("metadata of %s comes twice", md.MetricFamilyName)
		}
		r.Metadata[md.MetricFamilyName] = metadata.Metadata{
			Type: model.MetricType(strings.ToLower(md.Type.String())), Help: md.Help, Unit: md.Unit,
		}
	}
}

func (r *FarEndRequest) readV2(raw []byte, faultf func(string, ...any)) {
	var m writev2.Request
	if err := proto.Unmarshal(raw, &m); err != nil {
		faultf("message 2.0: %s", err)
		return
	}
	if len(m.Symbols) == 0 || m.Symbols[0] != "" {
		faultf("symbols do not begin with the empty string")
	}
	seen := map[string]bool{}
	for _, s := range m.Symbols {
		if seen[s] {
			faultf("symbol %q comes twice", s)
		}
		seen[s] = true
	}
	b := labels.NewScratchBuilder(0)
	for _, ts := range m.Timeseries {
		checkPairs(resolve(m.Symbols, ts.LabelsRefs, faultf), faultf)
		ls, err := ts.ToLabels(&b, m.Symbols)
		if err != nil {
			faultf("labels: %s", err)
			continue
		}
		resolve(m.Symbols, []uint32{ts.Metadata.HelpRef, ts.Metadata.UnitRef}, faultf)
		var exemplars []exemplar.Exemplar
		for _, e := range ts.Exemplars {
			resolve(m.Symbols, e.LabelsRefs, faultf)
			if e.Timestamp == 0 {
				faultf("an exemplar without time")
			}
			ex, err := e.ToExemplar(&b, m.Symbols)
			if err != nil {
				faultf("exemplar: %s", err)
				continue
			}
			exemplars = append(exemplars, ex)
		}
		md, err := ts.ToMetadata(m.Symbols)
		if err != nil {
			faultf("metadata: %s", err)
		}
		var out []Sample
		for _, s := range ts.Samples {
			out = append(out, Sample{Labels: ls, ST: s.StartTimestamp, T: s.Timestamp, V: s.Value, Metadata: md})
		}
		for _, h := range ts.Histograms {
			s := Sample{Labels: ls, ST: h.StartTimestamp, T: h.Timestamp, Metadata: md}
			if h.IsFloatHistogram() {
				s.FH = h.ToFloatHistogram()
			} else {
				s.H = h.ToIntHistogram()
			}
			out = append(out, s)
		}
		r.add(ls, out, exemplars, len(ts.Samples) > 0 && len(ts.Histograms) > 0, faultf)
	}
}

// add keeps the samples of one TimeSeries. An exemplar goes with the first
// sample that is not older, as the message does not say which it was beside.
func (r *FarEndRequest) add(ls labels.Labels, out []Sample, exemplars []exemplar.Exemplar, both bool, faultf func(string, ...any)) {
	if len(out) == 0 {
		faultf("series %s has neither samples nor histograms", ls)
		return
	}
	if both {
		faultf("series %s has samples and histograms", ls)
	}
	for _, e := range exemplars {
		at := len(out) - 1
		for i := range out {
			if out[i].T >= e.Ts {
				at = i
				break
			}
		}
		out[at].Exemplars = append(out[at].Exemplars, e)
	}
	r.Samples = append(r.Samples, out...)
}

func resolve(symbols []string, refs []uint32, faultf func(string, ...any)) []string {
	var out []string
	for _, ref := range refs {
		if int(ref) >= len(symbols) {
			faultf("symbol %d of %d", ref, len(symbols))
			continue
		}
		out = append(out, symbols[ref])
	}
	return out
}

// checkPairs checks names and values of a label set.
func checkPairs(pairs []string, faultf func(string, ...any)) {
	if len(pairs)%2 != 0 {
		faultf("labels %q are not pairs", pairs)
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == "" || pairs[i+1] == "" {
			faultf("labels %q have an empty name or value", pairs)
		}
		if i > 0 && pairs[i] <= pairs[i-2] {
			faultf("labels %q are not sorted, or one comes twice", pairs)
		}
	}
}
