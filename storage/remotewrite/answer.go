package remotewrite

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// answer is what became of one attempt.
type answer struct {
	err        error // the network's; then nothing else is set
	status     int
	written    written
	retryAfter time.Duration // zero without the header
	body       string        // the start of it, for people, when not 2xx
}

// written is what a 2.0 receiver says it stored.
type written struct {
	samples, histograms, exemplars int
	// any is false when not one of the three headers was there: then the
	// receiver did not understand the message as 2.0.
	any bool
}

// verdict is what an answer means (specification, Remote-Write 2.0, Responses;
// and whose fault it is, for the statuses that it leaves open).
type verdict uint8

const (
	accepted      verdict = iota
	refused               // the data's fault: not again
	doubtful              // refused, or a receiver of 1.0 that says 400 instead of 415
	tooLarge              // in smaller parts
	unavailable           // again, later
	throttled             // again, later, and it said so
	unknown               // the receiver does not know the message
	misconfigured         // the destination's fault: its settings, credentials, path
)

// judge reads an answer to a message of 2.0 or 1.0.
func (a *answer) judge(v2 bool) verdict {
	switch {
	case a.err != nil, a.status >= 500:
		return unavailable
	case a.status >= 200 && a.status < 300:
		if v2 && !a.written.any {
			return unknown
		}
		return accepted
	}
	switch a.status {
	case http.StatusBadRequest:
		if v2 && !a.written.any {
			return doubtful
		}
		return refused
	case http.StatusConflict, http.StatusUnprocessableEntity:
		return refused
	case http.StatusRequestEntityTooLarge:
		return tooLarge
	case http.StatusTooManyRequests:
		return throttled
	case http.StatusUnsupportedMediaType:
		if v2 {
			return unknown
		}
	}
	return misconfigured
}

// String returns the answer for a log line or a reason: status and body.
func (a *answer) String() string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.body == "":
		return fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	}
	return fmt.Sprintf("%d %s: %s", a.status, http.StatusText(a.status), a.body)
}

// reason is String for what was refused.
func (a *answer) reason() string {
	if a.status >= 200 && a.status < 300 {
		return a.String() + ": wrote less than it was sent"
	}
	return a.String()
}

const headerPrefix = "X-Prometheus-Remote-Write-"

func parseWritten(h http.Header) written {
	var w written
	w.read(h, headerPrefix+"Samples-Written", &w.samples)
	w.read(h, headerPrefix+"Histograms-Written", &w.histograms)
	w.read(h, headerPrefix+"Exemplars-Written", &w.exemplars)
	return w
}

func (w *written) read(h http.Header, name string, n *int) {
	if v, err := strconv.Atoi(h.Get(name)); err == nil && v >= 0 {
		*n, w.any = v, true
	}
}

// maxRetryAfter is the longest pause that a far end can impose, so that one
// wrong header does not shut a destination for a day.
const maxRetryAfter = time.Minute

// parseRetryAfter reads seconds or an HTTP date; zero is no pause.
func parseRetryAfter(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if v == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(v, 10, 64); err == nil {
		if seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return max(0, time.Duration(seconds)*time.Second)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}

// excerpt returns the start of a body for a log line: at most maxExcerpt
// bytes, one line, printable. Bodies are never parsed.
func excerpt(body []byte) string {
	body = body[:min(len(body), maxExcerpt)]
	var b strings.Builder
	for len(body) > 0 {
		r, n := utf8.DecodeRune(body)
		body = body[n:]
		switch {
		case r == utf8.RuneError && n == 1:
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// maxExcerpt is how much of an error's body is kept: enough for the first of
// the errors that receivers list.
const maxExcerpt = 512
