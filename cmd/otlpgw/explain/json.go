package explain

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// The document that WriteJSON prints.
type (
	jsonResult struct {
		Series   []jsonSample  `json:"series"`
		Verdicts []jsonVerdict `json:"verdicts"`
		// VerdictsLeft counts those that are not listed.
		VerdictsLeft int        `json:"verdicts_left,omitempty"`
		Report       jsonReport `json:"report"`
	}
	jsonSample struct {
		Labels    labels.Labels  `json:"labels"`
		Value     *number        `json:"value,omitempty"`
		Histogram *jsonHistogram `json:"histogram,omitempty"`
		Ms        int64          `json:"ms"`
		StartMs   int64          `json:"start_ms,omitempty"`
		Exemplars []jsonExemplar `json:"exemplars,omitempty"`
		Type      string         `json:"type,omitempty"`
		Unit      string         `json:"unit,omitempty"`
		Help      string         `json:"help,omitempty"`
	}
	jsonHistogram struct {
		Count         uint64       `json:"count"`
		Sum           number       `json:"sum"`
		Schema        int32        `json:"schema"`
		ZeroThreshold number       `json:"zero_threshold"`
		CustomBounds  []number     `json:"custom_bounds,omitempty"`
		Buckets       []jsonBucket `json:"buckets"`
	}
	jsonBucket struct {
		Lower          number `json:"lower"`
		LowerInclusive bool   `json:"lower_inclusive"`
		Upper          number `json:"upper"`
		UpperInclusive bool   `json:"upper_inclusive"`
		Count          number `json:"count"`
	}
	jsonExemplar struct {
		Labels labels.Labels `json:"labels"`
		Value  number        `json:"value"`
		Ms     int64         `json:"ms,omitempty"`
	}
	jsonVerdict struct {
		Rejected bool   `json:"rejected"`
		Reason   string `json:"reason"`
		Metric   string `json:"metric,omitempty"`
		Detail   string `json:"detail,omitempty"`
	}
	jsonReport struct {
		Points   int    `json:"points"`
		Rejected int    `json:"rejected"`
		Message  string `json:"message,omitempty"`
	}
)

// number is a float that JSON has no number for where it is not finite: then it
// is a string, NaN, +Inf, -Inf, or stale.
type number float64

// MarshalJSON returns a number or a string.
func (n number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	switch {
	case value.IsStaleNaN(v):
		return []byte(`"stale"`), nil
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.AppendQuote(nil, strconv.FormatFloat(v, 'g', -1, 64)), nil
	}
	return json.Marshal(v)
}

// WriteJSON prints the result for programs, as one object.
func (r *Result) WriteJSON(out io.Writer) error {
	doc := jsonResult{
		Series:       make([]jsonSample, len(r.Samples)),
		Verdicts:     make([]jsonVerdict, len(r.Verdicts)),
		VerdictsLeft: r.Left,
		Report:       jsonReport(r.Report),
	}
	for i := range r.Samples {
		doc.Series[i] = r.Samples[i].json()
	}
	for i, v := range r.Verdicts {
		doc.Verdicts[i] = jsonVerdict(v)
	}
	return writeJSON(out, doc)
}

func writeJSON(out io.Writer, doc any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

func (s *Sample) json() jsonSample {
	out := jsonSample{
		Labels: s.Labels, Ms: s.Ms, StartMs: s.StartMs,
		Type: string(s.Metadata.Type), Unit: s.Metadata.Unit, Help: s.Metadata.Help,
	}
	if h := s.Histogram; h == nil {
		v := number(s.Value)
		out.Value = &v
	} else {
		out.Histogram = &jsonHistogram{
			Count: h.Count, Sum: number(h.Sum), Schema: h.Schema, ZeroThreshold: number(h.ZeroThreshold),
			Buckets: []jsonBucket{},
		}
		for _, v := range h.CustomValues {
			out.Histogram.CustomBounds = append(out.Histogram.CustomBounds, number(v))
		}
		for _, b := range buckets(h) {
			out.Histogram.Buckets = append(out.Histogram.Buckets, jsonBucket{
				number(b.Lower), b.LowerInclusive, number(b.Upper), b.UpperInclusive, number(b.Count),
			})
		}
	}
	for _, e := range s.Exemplars {
		out.Exemplars = append(out.Exemplars, jsonExemplar{e.Labels, number(e.Value), e.Ts})
	}
	return out
}
