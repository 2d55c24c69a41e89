package converter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// reportNames is how many metrics a message names for one reason, and
// reportName the most bytes of a name it shows.
const (
	reportNames = 3
	reportName  = 120
)

// report collects the verdicts of one request.
type report struct {
	points   int
	rejected [reasons]int
	names    [reasons][]string
	details  [reasons]string
	warnings []string
}

func (r *report) reset() {
	r.points = 0
	clear(r.warnings)
	r.warnings = r.warnings[:0]
	r.details = [reasons]string{}
	r.rejected = [reasons]int{}
	for i := range r.names {
		clear(r.names[i])
		r.names[i] = r.names[i][:0]
	}
}

// maxWarnings is how many warnings a message holds.
const maxWarnings = 3

// reject counts a point of a metric. The name is copied; detail says more than
// the reason does, and the first one is shown.
func (r *report) reject(reason Reason, metric []byte, detail string) {
	r.rejected[reason]++
	if r.details[reason] == "" {
		r.details[reason] = detail
	}
	names := r.names[reason]
	if len(names) >= reportNames {
		return
	}
	if len(metric) > reportName {
		metric = metric[:reportName]
	}
	for _, name := range names {
		if name == string(metric) {
			return
		}
	}
	r.names[reason] = append(names, string(bytes.ToValidUTF8(metric, []byte("\uFFFD"))))
}

// warn notes a change of data that the client should hear of.
func (r *report) warn(kind conflictKind, series string) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, excerpt(series)+": "+conflictText[kind].text)
	}
}

// merge adds what became of a tenant's part of the request.
func (r *report) merge(o *report, tenant string) {
	r.points += o.points
	for reason := accepted + 1; reason < reasons; reason++ {
		r.rejected[reason] += o.rejected[reason]
		for _, name := range o.names[reason] {
			if len(r.names[reason]) < reportNames && !slices.Contains(r.names[reason], name) {
				r.names[reason] = append(r.names[reason], name)
			}
		}
		if r.details[reason] == "" && o.details[reason] != "" {
			r.details[reason] = o.details[reason]
			if tenant != "" {
				r.details[reason] = fmt.Sprintf("of tenant %q: %s", tenant, o.details[reason])
			}
		}
	}
	for _, w := range o.warnings {
		if len(r.warnings) < maxWarnings {
			r.warnings = append(r.warnings, w)
		}
	}
}

// total returns how many points were rejected.
func (r *report) total() int {
	n := 0
	for _, c := range r.rejected {
		n += c
	}
	return n
}

// result makes the report that the client gets.
func (r *report) result() Report {
	n := r.total()
	if n == 0 && len(r.warnings) == 0 {
		return Report{Points: r.points}
	}
	var b strings.Builder
	if n > 0 {
		fmt.Fprintf(&b, "rejected %d of %d data points", n, r.points)
	}
	sep := ": "
	for reason := accepted + 1; reason < reasons; reason++ {
		if r.rejected[reason] == 0 {
			continue
		}
		b.WriteString(sep)
		sep = "; "
		r.describe(&b, reason)
	}
	sep = "warning: "
	if n > 0 {
		sep = "; warning: "
	}
	for _, w := range r.warnings {
		b.WriteString(sep + w)
		sep = "; "
	}
	msg := b.String()
	if len(msg) > MaxMessage {
		msg = strings.ToValidUTF8(msg[:MaxMessage-3], "") + "..."
	}
	return Report{Points: r.points, Rejected: n, Message: msg}
}

// describe writes what was rejected for one reason.
func (r *report) describe(b *strings.Builder, reason Reason) {
	fmt.Fprintf(b, "%d %s (%s)", r.rejected[reason], reason, reasonText[reason].text)
	for i, name := range r.names[reason] {
		if i == 0 {
			b.WriteString(" in ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%q", name)
	}
	if d := r.details[reason]; d != "" {
		b.WriteString(": " + d)
	}
}
