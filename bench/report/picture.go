package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/otlpgw/otlpgw/bench/paired/quantity"
	"github.com/otlpgw/otlpgw/bench/report/chart"
)

// picture is a chart that a report has if its benchmark was run.
type picture struct {
	file, title, subtitle string
	family                string
	only                  *regexp.Regexp // which parts; nil: all
	draw                  func(p picture, s *step, f *family, caption []string) []byte
}

var shapes = regexp.MustCompile(`^(small|sdk|batch)$`)

// pictures, in the order of the report.
var pictures = []picture{
	{
		"throughput.svg", "Samples per second: the whole handler", "Warm requests, HTTP in process, one core, the same bytes in turns. More is better.",
		"BenchmarkRatio", shapes, throughput,
	},
	{
		"bytes.svg", "Bytes allocated per request: the whole handler", "Warm requests, HTTP in process, one core. Less is better.",
		"BenchmarkRatio", shapes, allocated,
	},
	{
		"throughput-peers.svg", "Samples per second: conversion beside other projects", "Warm requests, from the bytes of a request to series with labels and samples, one core. More is better.",
		"BenchmarkPeers", nil, throughput,
	},
	{
		"bytes-peers.svg", "Bytes allocated per request: conversion beside other projects", "Warm requests, from the bytes of a request to series with labels and samples, one core. Less is better.",
		"BenchmarkPeers", nil, allocated,
	},
	{
		"cold.svg", "Samples per second: every series new", "First sight of every series, one core, the same bytes in turns. More is better.",
		"BenchmarkCold", nil, throughput,
	},
	{
		"growth.svg", "Time per sample, by cached series", "Warm requests of targets in random order, one core. Both axes are logarithmic. Less is better.",
		"BenchmarkGrowth", nil, growth,
	},
	{
		"scaling.svg", "Throughput by processors", "Warm sdk requests of as many senders as processors, each a target of its own (Handler) or all one target (Shared). More is better.",
		"BenchmarkShared", nil, scaling,
	},
}

// svg is a drawn picture.
type svg struct {
	picture
	text []byte
}

// draw draws what the record has the numbers for.
func (r *record) draw() []svg {
	var out []svg
	for _, p := range pictures {
		s, f := r.family(p.family)
		if f == nil {
			continue
		}
		caption := []string{
			fmt.Sprintf("%s, commit %s, %s", r.Machine, r.Commit, r.Date.Format("2006-01-02")),
			s.Command,
		}
		if text := p.draw(p, s, f.only(p.only), caption); text != nil {
			out = append(out, svg{p, text})
		}
	}
	return out
}

// only keeps the rows with names that match.
func (f *family) only(names *regexp.Regexp) *family {
	if names == nil {
		return f
	}
	kept := &family{pkg: f.pkg, name: f.name}
	for _, r := range f.rows {
		if names.MatchString(r.name) {
			kept.rows = append(kept.rows, r)
		}
	}
	return kept
}

func (p picture) frame(caption []string) chart.Frame {
	return chart.Frame{Title: p.title, Subtitle: p.subtitle, Caption: caption}
}

// contestants are the first party and those it was compared with.
func (r *row) contestants() []string {
	return slices.DeleteFunc(r.parties(), func(p string) bool { return p != r.parties()[0] && !r.opposes(p) })
}

func throughput(p picture, _ *step, f *family, caption []string) []byte {
	return contestBars(f, chart.Bars{
		Frame: p.frame(caption), Axis: "samples per second", Format: format("samples/s"),
	}, "samples/s", func(r *row, party string) string {
		if !r.opposes(party) {
			return ""
		}
		return fmt.Sprintf("(%s is %s)", r.parties()[0], ratio(r.median(times+"-"+party)))
	})
}

func allocated(p picture, _ *step, f *family, caption []string) []byte {
	return contestBars(f, chart.Bars{
		Frame: p.frame(caption), Axis: "bytes allocated per request; each kind of request on a scale of its own",
		Format: format("B/op"), OwnScale: true,
	}, "B/op", func(*row, string) string { return "" })
}

func format(unit string) func(float64) string {
	return func(v float64) string { return quantity.Short(unit, v) }
}

// contestBars draws one figure of the parties of each row; nil if none has it.
func contestBars(f *family, b chart.Bars, column string, note func(*row, string) string) []byte {
	for _, r := range f.rows {
		b.Series = union(b.Series, r.contestants())
	}
	for _, r := range f.rows {
		g := chart.Group{Name: r.name}
		for _, party := range r.contestants() {
			if v := r.median(party + "-" + column); !math.IsNaN(v) {
				g.Bars = append(g.Bars, chart.Bar{Series: slices.Index(b.Series, party), Value: v, Note: note(r, party)})
			}
		}
		if g.Bars != nil {
			b.Groups = append(b.Groups, g)
		}
	}
	if b.Groups == nil {
		return nil
	}
	return b.SVG()
}

// growth draws the time per sample of each party, by the number in the part's
// name.
func growth(p picture, _ *step, f *family, caption []string) []byte {
	l := chart.Lines{
		Frame: p.frame(caption), XAxis: "cached series", YAxis: "time per sample", LogX: true, LogY: true,
		FormatX: format("series"), FormatY: format("ns"),
	}
	for _, r := range f.rows {
		x, ok := number(r.name)
		for _, party := range r.contestants() {
			if rate := r.median(party + rateSuffix); ok && rate > 0 {
				l.Lines = add(l.Lines, party, chart.Point{X: x, Y: 1e9 / rate})
			}
		}
	}
	if l.Lines == nil {
		return nil
	}
	return l.SVG()
}

var sdk = regexp.MustCompile(`^sdk\b`)

// scaling draws what each benchmark of sdk requests does with more processors,
// as times what it does with the fewest.
func scaling(p picture, s *step, _ *family, caption []string) []byte {
	l := chart.Lines{
		Frame: p.frame(caption), XAxis: "processors (GOMAXPROCS)", YAxis: "times the samples per second of one",
		FormatX: format(""), FormatY: func(v float64) string { return format("")(v) + "×" },
	}
	for _, f := range s.families {
		for _, r := range f.only(sdk).rows {
			if rate := r.median("samples/s"); !math.IsNaN(rate) {
				name := strings.TrimPrefix(f.name, "Benchmark") + "/" + r.name
				l.Lines = add(l.Lines, name, chart.Point{X: float64(r.procs), Y: rate})
			}
		}
	}
	for _, line := range l.Lines {
		one := line.Points[0].Y
		for i := range line.Points {
			line.Points[i].Y /= one
		}
	}
	if l.Lines == nil {
		return nil
	}
	return l.SVG()
}

// add appends a point to the line with the given name, in the order of X.
func add(lines []chart.Line, name string, p chart.Point) []chart.Line {
	i := slices.IndexFunc(lines, func(l chart.Line) bool { return l.Name == name })
	if i < 0 {
		i = len(lines)
		lines = append(lines, chart.Line{Name: name})
	}
	at, _ := slices.BinarySearchFunc(lines[i].Points, p, func(a, b chart.Point) int {
		if a.X < b.X {
			return -1
		}
		return 1
	})
	lines[i].Points = slices.Insert(lines[i].Points, at, p)
	return lines
}

var numbers = regexp.MustCompile(`(\d+)([kM]?)$`)

// number reads the number that a part's name ends in: 10000, 10k, series=1M.
func number(name string) (float64, bool) {
	m := numbers.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	v *= map[string]float64{"": 1, "k": 1e3, "M": 1e6}[m[2]]
	return v, err == nil && v > 0
}
