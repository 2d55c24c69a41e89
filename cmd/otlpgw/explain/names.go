package explain

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/otlp"
)

// Names says how two translation strategies name what a payload holds.
type Names struct {
	Old     string        `json:"old"`
	New     string        `json:"new"`
	Metrics []MetricNames `json:"metrics"`
}

// MetricNames is one metric of the payload, or target_info, which stands last.
type MetricNames struct {
	// Metric is the OTLP name.
	Metric string `json:"metric"`
	// Names are the names of its series: one, or several for a histogram.
	Names []Change `json:"names"`
	// Labels are those that attributes become.
	Labels []Change `json:"labels,omitempty"`

	old, now []Sample // of the specimen
}

// Change is a name in both strategies; empty where there is none.
type Change struct {
	// Attribute is the OTLP key of a label; for labels only.
	Attribute string `json:"attribute,omitempty"`
	Old       string `json:"old"`
	New       string `json:"new"`
	// OldRejected and NewRejected say why there is no name.
	OldRejected string `json:"old_rejected,omitempty"`
	NewRejected string `json:"new_rejected,omitempty"`
}

// Compare translates the names in a payload with two strategies. Relabelling
// and limits are left out: they look at values, and names are what this is
// about. The error is a [*converter.DecodeError] for a body that is no OTLP.
func Compare(ctx context.Context, o converter.Options, p Payload, before, after otlptranslator.TranslationStrategyOption) (*Names, error) {
	if _, err := Run(ctx, o, p); err != nil {
		return nil, err
	}
	body := p.Body
	if p.JSON {
		var err error
		if body, err = otlp.AppendJSON(nil, p.Body); err != nil {
			return nil, err
		}
	}
	v, err := takeInventory(body)
	if err != nil {
		return nil, err
	}
	o.Relabel, o.Limits = nil, converter.Limits{}
	names := &Names{Old: string(before), New: string(after), Metrics: []MetricNames{}}
	withInfo := o
	o.DisableTargetInfo = true
	c, err := newComparison(o, before, after)
	if err != nil {
		return nil, err
	}
	for _, k := range v.metrics {
		m, err := c.metric(ctx, k)
		if err != nil {
			return nil, err
		}
		names.Metrics = append(names.Metrics, m)
	}
	if c, err = newComparison(withInfo, before, after); err != nil {
		return nil, err
	}
	info, err := c.targetInfo(ctx, v.resource)
	if err != nil {
		return nil, err
	}
	if info != nil {
		names.Metrics = append(names.Metrics, *info)
	}
	return names, nil
}

// comparison is two pipelines that get the same specimens.
type comparison struct {
	timeMs int64 // of the next specimen
	lines  [2]*line
}

func newComparison(o converter.Options, before, after otlptranslator.TranslationStrategyOption) (*comparison, error) {
	o.Now = nil // Specimens have times of their own.
	// From a day ago on, so that no number of metrics brings them ahead of now.
	c := &comparison{timeMs: time.Now().Add(-24 * time.Hour).UnixMilli()}
	for i, s := range []otlptranslator.TranslationStrategyOption{before, after} {
		o.Names.Strategy = s
		var err error
		if c.lines[i], err = newLine(o); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// side is what a strategy makes of a specimen.
type side struct {
	samples  []Sample
	rejected string
}

// send passes the specimen of a metric through both pipelines, each a
// millisecond after the last, so that none is taken for another's repetition.
func (c *comparison) send(ctx context.Context, k *metricKeys) (sides [2]side, err error) {
	body := k.specimen(uint64(c.timeMs) * 1e6)
	c.timeMs++
	for i, l := range c.lines {
		r, err := l.push(ctx, Payload{Body: body})
		if err != nil {
			return sides, err
		}
		sides[i].samples = r.Samples
		for _, v := range r.Verdicts {
			if v.Rejected {
				sides[i].rejected = v.Reason
			}
		}
	}
	return sides, nil
}

func (c *comparison) metric(ctx context.Context, k *metricKeys) (MetricNames, error) {
	sides, err := c.send(ctx, k)
	if err != nil {
		return MetricNames{}, err
	}
	m := compared(k.name, sides[0].samples, sides[1].samples)
	for i := range m.Names {
		m.Names[i].OldRejected, m.Names[i].NewRejected = sides[0].rejected, sides[1].rejected
	}
	m.labels("p", k.point)
	m.labels("s", k.scope)
	m.labels("r", k.resource)
	return m, nil
}

// targetInfo compares target_info, if there is any.
func (c *comparison) targetInfo(ctx context.Context, resource keys) (*MetricNames, error) {
	sides, err := c.send(ctx, &metricKeys{name: "specimen", typ: otlp.TypeGauge, resource: resource})
	if err != nil {
		return nil, err
	}
	old, now := infoOf(sides[0].samples), infoOf(sides[1].samples)
	if old == nil || now == nil {
		return nil, nil
	}
	m := compared("target_info", old, now)
	m.labels("r", resource)
	return &m, nil
}

// infoOf returns target_info of what a specimen became; the namespace may
// stand before its name.
func infoOf(samples []Sample) []Sample {
	i := slices.IndexFunc(samples, func(s Sample) bool {
		return strings.HasSuffix(s.Labels.Get(model.MetricNameLabel), "target_info")
	})
	if i < 0 {
		return nil
	}
	return samples[i : i+1]
}

func compared(metric string, old, now []Sample) MetricNames {
	m := MetricNames{Metric: metric, old: old, now: now}
	a, b := namesOf(old), namesOf(now)
	for i := range max(len(a), len(b), 1) {
		m.Names = append(m.Names, Change{Old: at(a, i), New: at(b, i)})
	}
	return m
}

// labels adds the labels that the attributes with these keys became.
func (m *MetricNames) labels(prefix string, of keys) {
	for i, key := range of {
		mark := prefix + strconv.Itoa(i)
		c := Change{Attribute: key, Old: marked(m.old, mark), New: marked(m.now, mark)}
		if c.Old != "" || c.New != "" {
			m.Labels = append(m.Labels, c)
		}
	}
}

// marked returns the label that has a value; those of attributes that meet in
// one label are joined by semicolons. What becomes of the resource's identity,
// job and instance, is no matter of names.
func marked(samples []Sample, mark string) (name string) {
	if len(samples) == 0 {
		return ""
	}
	samples[0].Labels.Range(func(l labels.Label) {
		identity := mark[0] == 'r' && (l.Name == model.JobLabel || l.Name == model.InstanceLabel)
		if !identity && slices.Contains(strings.Split(l.Value, ";"), mark) {
			name = l.Name
		}
	})
	return name
}

// namesOf returns the names of series in order, each once.
func namesOf(samples []Sample) (names []string) {
	for i := range samples {
		if name := samples[i].Labels.Get(model.MetricNameLabel); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return ""
}

// WriteText prints old -> new, a metric after the other:
//
//	http.server.duration
//	  http_server_duration_seconds_sum -> http.server.duration_seconds_sum
//	  label http_route -> http.route
func (n *Names) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s -> %s\n", n.Old, n.New)
	for _, m := range n.Metrics {
		fmt.Fprintf(w, "\n%s\n", printable(m.Metric))
		for _, c := range m.Names {
			fmt.Fprintf(w, "  %s -> %s\n", orWhy(c.Old, c.OldRejected), orWhy(c.New, c.NewRejected))
		}
		for _, c := range m.Labels {
			fmt.Fprintf(w, "  label %s -> %s\n", orWhy(c.Old, ""), orWhy(c.New, ""))
		}
	}
	return w.Flush()
}

// WriteJSON prints the names as one object.
func (n *Names) WriteJSON(out io.Writer) error { return writeJSON(out, n) }

// orWhy returns a name, or why there is none.
func orWhy(name, rejected string) string {
	switch {
	case name != "":
		return printable(name)
	case rejected != "":
		return "(rejected: " + rejected + ")"
	}
	return "(none)"
}
