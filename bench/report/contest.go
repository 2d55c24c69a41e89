package main

import (
	"math"
	"slices"
	"strings"

	"github.com/otlpgw/otlpgw/bench/paired/stat"
)

// A benchmark that measures several parties in turns reports for each of them
// "<party>-samples/s" and whatever else it has under the same prefix, and what
// the first of them is to another as "x-<party>".

const (
	rateSuffix = "-samples/s"
	times      = "x" // the column of "x-<party>"
)

// product is the party that the others are compared with, where it takes part.
const product = "otlpgw"

// parties are those of a contest; none if the row is no contest. The one that
// the others are compared with comes first, then the one that most people know.
func (r *row) parties() []string {
	var names []string
	for _, u := range r.units {
		if name, ok := strings.CutSuffix(u, rateSuffix); ok && name != "" {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	i := slices.Index(names, product)
	if i < 0 {
		i = max(0, slices.IndexFunc(names, func(n string) bool { return !r.opposes(n) }))
	}
	names = forward(names, i, 0)
	if i := slices.Index(names, "prometheus"); i > 1 {
		names = forward(names, i, 1)
	}
	return names
}

// forward moves what stands at from to the place to, before it.
func forward(names []string, from, to int) []string {
	name := names[from]
	return slices.Insert(slices.Delete(names, from, from+1), to, name)
}

// opposes reports whether the first party was compared with this one.
func (r *row) opposes(party string) bool {
	return slices.ContainsFunc(r.units, func(u string) bool {
		rest, ok := strings.CutPrefix(u, times+"-"+party)
		return ok && (rest == "" || rest == "-cpu")
	})
}

// attribute says to which of the parties a unit belongs, and what it says of
// it: "prometheus-B/op" is B/op of prometheus, "x-vmagent-cpu" is x-cpu of
// vmagent, "pct-B-of-prometheus" is pct-B-of. Both are empty if it belongs to
// nobody.
func attribute(unit string, parties []string) (party, column string) {
	for _, p := range parties {
		if len(p) <= len(party) {
			continue // A longer name that fits is meant.
		}
		if rest, ok := strings.CutPrefix(unit, p+"-"); ok {
			party, column = p, rest
		} else if rest, ok := strings.CutPrefix(unit, times+"-"+p); ok && (rest == "" || rest[0] == '-') {
			party, column = p, times+rest
		} else if rest, ok := strings.CutSuffix(unit, "-"+p); ok {
			party, column = p, rest
		}
	}
	return party, column
}

// median is that of a unit over the runs, NaN if it was not reported.
func (r *row) median(unit string) float64 { return stat.Median(r.values[unit]) }

// spread is half of what lies between the lowest and the highest run, as a
// fraction of the median: NaN where there is one run or nothing to compare
// with.
func (r *row) spread(unit string) float64 {
	v := r.values[unit]
	m := math.Abs(stat.Median(v))
	if len(v) < 2 || m == 0 {
		return math.NaN()
	}
	return (slices.Max(v) - slices.Min(v)) / 2 / m
}

// runs is how often the row was run.
func (r *row) runs() int {
	n := 0
	for _, v := range r.values {
		n = max(n, len(v))
	}
	return n
}

// principal is the unit that the row is about: a rate or a time.
func (r *row) principal() string {
	for _, fits := range []func(string) bool{
		func(u string) bool { return u == "samples/s" },
		func(u string) bool { return u == "ns/op" },
		func(u string) bool { return strings.HasPrefix(u, times+"-") },
		func(string) bool { return true },
	} {
		if i := slices.IndexFunc(r.units, fits); i >= 0 {
			return r.units[i]
		}
	}
	return ""
}
