package converter

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// conflictKind is what two senders, or two of a sender's streams, disagree on.
type conflictKind uint8

// The kinds. Their set is closed: each is a value of the label kind of
// otlpgw_converter_conflicts_total.
const (
	conflictWriters conflictKind = iota // two processes write one series
	conflictSeries                      // two values for one time of a series
	conflictType                        // one name, two types
	conflictInfo                        // two sets of resource attributes for one target
	conflictKinds
)

var conflictText = [conflictKinds]struct{ kind, text string }{
	conflictWriters: {"writers", "start times alternate or the value falls: two processes write one series; give each its own service.instance.id"},
	conflictSeries:  {"series", "two streams translate to one series; the first value for a time stays"},
	conflictType:    {"type", "the name is already used with another type, which stays"},
	conflictInfo:    {"target_info", "two resources with one job and instance differ in other attributes"},
}

// Conflict is one disagreement that was seen, for /debug/conflicts.
type Conflict struct {
	Tenant   string    `json:"tenant"`
	Kind     string    `json:"kind"`
	Series   string    `json:"series"`
	Resource string    `json:"resource"`
	Count    int       `json:"count"`
	LastSeen time.Time `json:"last_seen"`
}

// Bounds of the list of conflicts, and how often one is told again.
const (
	maxConflicts  = 1000
	tellAgainMs   = 10 * 60 * 1000
	maxConflictID = 1024 // bytes of series or resource shown
)

// conflicts remembers the disagreements of a pipeline. It is safe for
// concurrent use.
type conflicts struct {
	logger *slog.Logger

	mu     sync.Mutex
	seen   map[conflictKey]*Conflict
	logged map[loggedKey]int64
}

type conflictKey struct {
	tenant, resource string
	series           uint64 // hash of the subject
	kind             conflictKind
}

// subject is what a conflict is about: a series, or a metric by its name.
type subject struct {
	ls   labels.Labels
	name string
}

func (s subject) hash() uint64 {
	if s.name != "" {
		return labels.StableHash(labels.FromStrings(model.MetricNameLabel, s.name))
	}
	return s.ls.Hash()
}

// String returns the subject for people, which is not for every point.
func (s subject) String() string {
	if s.name != "" {
		return s.name
	}
	return s.ls.String()
}

// loggedKey is what is logged once per interval.
type loggedKey struct {
	tenant, resource string
	kind             conflictKind
}

func newConflicts(l *slog.Logger) *conflicts {
	return &conflicts{logger: l, seen: make(map[conflictKey]*Conflict), logged: make(map[loggedKey]int64)}
}

// add notes a conflict. Strings are copied, and the subject is made one, when
// they are kept.
func (x *conflicts) add(k conflictKey, about subject, nowMs int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k.resource = bounded(k.resource)
	c := x.seen[k]
	if c == nil {
		if len(x.seen) >= maxConflicts {
			x.dropOldest()
		}
		k.resource = strings.Clone(k.resource)
		c = &Conflict{Tenant: k.tenant, Kind: conflictText[k.kind].kind, Series: strings.Clone(bounded(about.String())), Resource: k.resource}
		x.seen[k] = c
	}
	c.Count++
	c.LastSeen = time.UnixMilli(nowMs).UTC()
	x.log(k, c.Series, nowMs)
}

// log tells about a resource's conflicts once per interval and kind.
func (x *conflicts) log(k conflictKey, about string, nowMs int64) {
	l := loggedKey{k.tenant, k.resource, k.kind}
	if last, ok := x.logged[l]; ok && nowMs-last < tellAgainMs {
		return
	}
	if len(x.logged) >= maxConflicts {
		clear(x.logged)
	}
	x.logged[l] = nowMs
	x.logger.Warn("conflict", "kind", conflictText[k.kind].kind, "series", about, "resource", k.resource,
		"tenant", k.tenant, "why", conflictText[k.kind].text)
}

func (x *conflicts) dropOldest() {
	var oldest conflictKey
	var at *Conflict
	for k, c := range x.seen {
		if at == nil || c.LastSeen.Before(at.LastSeen) {
			oldest, at = k, c
		}
	}
	delete(x.seen, oldest)
}

// list returns the conflicts, newest first.
func (x *conflicts) list() []Conflict {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Conflict, 0, len(x.seen))
	for _, c := range x.seen {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(b.LastSeen.Compare(a.LastSeen), cmp.Compare(a.Series, b.Series), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

func bounded(s string) string {
	if len(s) > maxConflictID {
		return s[:maxConflictID]
	}
	return s
}

// conflict counts a disagreement, lists it, and warns the client at most once
// per target and interval when no rejection tells it anyway.
func (c *converter) conflict(kind conflictKind, s *sender, about subject, metric string, warn bool) {
	c.opts.metrics.conflicts[kind].Inc()
	c.opts.conflicts.add(conflictKey{tenant: c.tenant.Name, resource: s.describe(), series: about.hash(), kind: kind}, about, c.nowMs)
	if !warn {
		return
	}
	if c.opts.OnVerdict != nil {
		c.opts.OnVerdict(Verdict{Reason: conflictText[kind].kind, Metric: metric, Detail: about.String() + ": " + conflictText[kind].text})
	}
	if last := s.warnedMs.Load(); (last == 0 || c.nowMs-last >= tellAgainMs) && s.warnedMs.CompareAndSwap(last, c.nowMs) {
		c.report.warn(kind, about.String())
	}
}

// describe names a resource for people.
func (s *sender) describe() string {
	if about := s.about.Load(); about != nil {
		return *about
	}
	about := `job="` + excerpt(s.job) + `" instance="` + excerpt(s.instance) + `"`
	s.about.Store(&about)
	return about
}
