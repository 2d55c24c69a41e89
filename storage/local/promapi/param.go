package promapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// maxSeconds bounds a timestamp in seconds either way, so that milliseconds fit
// into 64 bits with room for an offset. It is where Prometheus has the ends of
// an open range.
const maxSeconds = math.MaxInt64/1000 - 62135596801

// openEnds are the ends as Prometheus prints them; they have too many digits
// to be RFC 3339.
var openEnds = map[string]time.Time{
	clampTime(true).Format(time.RFC3339Nano):                                     clampTime(true),
	clampTime(false).Add(time.Second - time.Nanosecond).Format(time.RFC3339Nano): clampTime(false),
}

func clampTime(negative bool) time.Time {
	if negative {
		return time.Unix(-maxSeconds, 0).UTC()
	}
	return time.Unix(maxSeconds, 0).UTC()
}

// parseTime reads seconds since the epoch, with a fraction, or RFC 3339. Times
// far out are moved to the ends.
func parseTime(s string) (time.Time, error) {
	if sec, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case math.IsNaN(sec):
			return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", s)
		case math.Abs(sec) >= maxSeconds:
			return clampTime(sec < 0), nil
		}
		whole, fraction := math.Modf(sec)
		// Beyond a millisecond is what floats made of it.
		return time.Unix(int64(whole), int64(math.Round(fraction*1000))*int64(time.Millisecond)).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	if t, ok := openEnds[s]; ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", s)
}

// parseDuration reads seconds, with a fraction, or Prometheus's notation (5m).
func parseDuration(s string) (time.Duration, error) {
	if sec, err := strconv.ParseFloat(s, 64); err == nil {
		ns := sec * float64(time.Second)
		if math.IsNaN(ns) || ns >= math.MaxInt64 || ns <= math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(s); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", s)
}

// invalid is the error of one parameter.
func invalid(name string, err error) error {
	return &apiError{badData, fmt.Errorf("invalid parameter %q: %w", name, err)}
}

func timeParam(r *http.Request, name string, byDefault time.Time) (time.Time, error) {
	s := r.Form.Get(name)
	if s == "" {
		return byDefault, nil
	}
	t, err := parseTime(s)
	if err != nil {
		return t, invalid(name, err)
	}
	return t, nil
}

func requiredTimeParam(r *http.Request, name string) (time.Time, error) {
	t, err := parseTime(r.Form.Get(name))
	if err != nil {
		return t, invalid(name, err)
	}
	return t, nil
}

// rangeParams returns start and end, open by default, as ms.
func rangeParams(r *http.Request) (start, end int64, err error) {
	from, err := timeParam(r, "start", clampTime(true))
	if err != nil {
		return 0, 0, err
	}
	to, err := timeParam(r, "end", clampTime(false))
	if err != nil {
		return 0, 0, err
	}
	if to.Before(from) {
		return 0, 0, invalid("end", errors.New("end timestamp must not be before start timestamp"))
	}
	return from.UnixMilli(), to.UnixMilli(), nil
}

// limitParam returns how many results are wanted at most; 0 is all of them.
func limitParam(r *http.Request) (int, error) {
	s := r.Form.Get("limit")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, invalid("limit", err)
	}
	if n < 0 {
		return 0, invalid("limit", errors.New("limit must be non-negative"))
	}
	return n, nil
}

// oneMore is the limit for the store: one more tells that there are more.
func oneMore(limit int) int {
	if limit == 0 || limit == math.MaxInt {
		return limit
	}
	return limit + 1
}

// maxSelectors bounds the match[] parameters of one request: each costs a pass
// over the index.
const maxSelectors = 1000

// matchParam returns the selectors of match[], each of which must exclude
// something.
func (a *API) matchParam(r *http.Request) ([][]*labels.Matcher, error) {
	in := r.Form["match[]"]
	if len(in) > maxSelectors {
		return nil, invalid("match[]", fmt.Errorf("%d selectors are more than %d", len(in), maxSelectors))
	}
	sets, err := a.parser.ParseMetricSelectors(in)
	if err != nil {
		return nil, invalid("match[]", err)
	}
	for _, set := range sets {
		empty := true
		for _, m := range set {
			empty = empty && (m == nil || m.Matches(""))
		}
		if empty {
			return nil, invalid("match[]", errors.New("match[] must contain at least one non-empty matcher"))
		}
	}
	return sets, nil
}
