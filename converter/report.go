package converter

import (
	"bytes"
	"fmt"
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
	farEnd   string
}

func (r *report) reset() {
	r.points, r.farEnd = 0, ""
	r.rejected = [reasons]int{}
	for i := range r.names {
		clear(r.names[i])
		r.names[i] = r.names[i][:0]
	}
}

// reject counts n points of a metric. The name is copied.
func (r *report) reject(reason Reason, metric []byte, n int) {
	r.rejected[reason] += n
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
	if n == 0 {
		return Report{Points: r.points}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rejected %d of %d data points", n, r.points)
	sep := ": "
	for reason := accepted + 1; reason < reasons; reason++ {
		if r.rejected[reason] == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s%d %s (%s)", sep, r.rejected[reason], reason, reasonText[reason].text)
		sep = "; "
		for i, name := range r.names[reason] {
			if i == 0 {
				b.WriteString(" in ")
			} else {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q", name)
		}
		if reason == ReasonFarEnd && r.farEnd != "" {
			b.WriteString(": " + r.farEnd)
		}
	}
	msg := b.String()
	if len(msg) > MaxMessage {
		msg = strings.ToValidUTF8(msg[:MaxMessage-3], "") + "..."
	}
	return Report{Points: r.points, Rejected: n, Message: msg}
}
