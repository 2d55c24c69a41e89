package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otlpgw/otlpgw/bench/paired/quantity"
)

// table is one in Markdown.
type table struct {
	head []string
	rows [][]string
	text int // so many columns hold text; the first always does
}

func (t *table) write(b *strings.Builder) {
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + strings.ReplaceAll(c, "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	line(t.head)
	text := max(1, t.text)
	b.WriteString(strings.Repeat("|---", text) + strings.Repeat("|---:", len(t.head)-text) + "|\n")
	for _, r := range t.rows {
		line(r)
	}
}

// table lists a family: medians over the runs.
func (f *family) table() table {
	contest := slices.ContainsFunc(f.rows, func(r *row) bool { return r.parties() != nil })
	if contest {
		return f.contest()
	}
	procs := f.severalProcs()
	var units []string
	for _, r := range f.rows {
		units = union(units, r.units)
	}
	t := table{head: []string{strings.TrimPrefix(f.name, "Benchmark")}}
	if procs {
		t.head = append(t.head, "processors")
	}
	t.head = append(append(t.head, units...), "±")
	for _, r := range f.rows {
		cells := []string{code(r.name)}
		if procs {
			cells = append(cells, strconv.Itoa(r.procs))
		}
		for _, u := range units {
			cells = append(cells, value(u, r.median(u)))
		}
		t.rows = append(t.rows, append(cells, spread(r.spread(r.principal()))))
	}
	return t
}

// contest lists a family of contests: a line per party.
func (f *family) contest() table {
	procs := f.severalProcs()
	var columns, shared []string
	for _, r := range f.rows {
		for _, u := range r.units {
			if p, c := attribute(u, r.parties()); p == "" {
				shared = union(shared, []string{u})
			} else {
				columns = union(columns, []string{c})
			}
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int { return rank(a) - rank(b) })
	ours := ""
	for _, r := range f.rows {
		if p := r.parties(); p != nil {
			ours = p[0]
			break
		}
	}
	t := table{head: []string{strings.TrimPrefix(f.name, "Benchmark"), "who"}, text: 2}
	if procs {
		t.head = append(t.head, "processors")
	}
	for _, c := range columns {
		t.head = append(t.head, heading(c, ours))
	}
	t.head = append(append(t.head, shared...), "±")
	for _, r := range f.rows {
		name := code(r.name)
		parties := r.parties()
		if parties == nil {
			parties = []string{""} // Reports only what is shared.
		}
		for i, p := range parties {
			cells := []string{name, p}
			name = ""
			if procs {
				cells = append(cells, strconv.Itoa(r.procs))
			}
			for _, c := range columns {
				cells = append(cells, r.cell(p, c))
			}
			for _, u := range shared {
				v := math.NaN()
				if i == 0 {
					v = r.median(u)
				}
				cells = append(cells, value(u, v))
			}
			t.rows = append(t.rows, append(cells, spread(r.spread(p+rateSuffix))))
		}
	}
	return t
}

// rank is where a column of a contest stands.
func rank(column string) int {
	order := []string{"samples/s", times, times + "-cpu", "B/op", "pct-B-of", "allocs/op"}
	if i := slices.Index(order, column); i >= 0 {
		return i
	}
	return len(order)
}

// cell is what a column says of a party.
func (r *row) cell(party, column string) string {
	for _, u := range r.units {
		if p, c := attribute(u, r.parties()); p == party && c == column {
			if strings.HasPrefix(column, times) {
				return ratio(r.median(u))
			}
			return value(column, r.median(u))
		}
	}
	return ""
}

// heading says in words what a column of a contest holds.
func heading(column, ours string) string {
	switch column {
	case times:
		return ours + " is"
	case "pct-B-of":
		return ours + " allocates"
	}
	if rest, ok := strings.CutPrefix(column, times+"-"); ok {
		return ours + " is, by " + rest
	}
	return column
}

func (f *family) severalProcs() bool {
	return slices.ContainsFunc(f.rows, func(r *row) bool { return r.procs != f.rows[0].procs })
}

// value is a cell; what was not reported is empty.
func value(unit string, v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case strings.HasPrefix(unit, "pct-"):
		return quantity.Short("", v) + " %"
	case strings.HasPrefix(unit, times+"-"):
		return ratio(v)
	}
	return quantity.Format(unit, v)
}

// ratio writes three digits: the fourth is noise.
func ratio(v float64) string {
	decimals := 2
	if v >= 100 {
		decimals = 0
	} else if v >= 10 {
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + "×"
}

func spread(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("%.1f %%", v*100)
}

func code(name string) string {
	if name == "" {
		return ""
	}
	return "`" + name + "`"
}

// union appends what is new.
func union(all, more []string) []string {
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
