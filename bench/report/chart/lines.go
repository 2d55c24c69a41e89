package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Lines shows how something grows.
type Lines struct {
	Frame
	// XAxis and YAxis say what is counted, with the units.
	XAxis, YAxis     string
	FormatX, FormatY func(float64) string
	// LogX and LogY make an axis logarithmic; values must then be positive.
	LogX, LogY bool
	Lines      []Line
}

// Line is one party's, with its points in the order of X.
type Line struct {
	Name   string
	Points []Point
}

// Point is one measurement.
type Point struct{ X, Y float64 }

type box struct{ x, y, w, h float64 }

func (b box) overlaps(o box) bool {
	return b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h && o.y < b.y+b.h
}

// SVG draws the chart. Ticks below are at the values that were measured.
func (l Lines) SVG() []byte {
	const height = 300.0
	c := &canvas{}
	names := make([]string, len(l.Lines))
	lo, hi := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	var xs []float64
	for i, line := range l.Lines {
		names[i] = line.Name
		for _, p := range line.Points {
			lo, hi = Point{min(lo.X, p.X), min(lo.Y, p.Y)}, Point{max(hi.X, p.X), max(hi.Y, p.Y)}
			xs = append(xs, p.X)
		}
	}
	c.head(l.Frame, names)
	if len(xs) == 0 {
		return c.finish(l.Frame)
	}

	c.text(margin, c.y+8, tickStyle, "start", l.YAxis)
	top := c.y + 28
	bottom := top + height
	y, ticks := linear(hi.Y, bottom, top)
	if l.LogY {
		y, ticks = logarithmic(lo.Y, hi.Y, bottom, top)
	}
	labels := 0.0
	for _, tick := range ticks {
		labels = max(labels, tickStyle.extent(l.FormatY(tick)))
	}
	left, right := margin+labels+12, width-margin-30
	for _, tick := range ticks {
		c.line(left, y.at(tick), right+30, y.at(tick), rule)
		c.text(left-10, y.at(tick)+4, tickStyle, "end", l.FormatY(tick))
	}

	x := scale{lo: lo.X, hi: hi.X, from: left + 30, to: right, log: l.LogX}
	free := math.Inf(-1) // where the last label ended
	for _, v := range distinct(xs) {
		c.line(x.at(v), bottom, x.at(v), bottom+5, grey)
		label := l.FormatX(v)
		if half := tickStyle.extent(label) / 2; x.at(v)-half > free {
			c.text(x.at(v), bottom+20, tickStyle, "middle", label)
			free = x.at(v) + half + 6
		}
	}
	c.line(left, bottom, right+30, bottom, grey)
	c.text((left+right+30)/2, bottom+42, tickStyle, "middle", l.XAxis)

	var taken []box // by labels; one that has no room is left out
	for i, line := range l.Lines {
		var path strings.Builder
		for j, p := range line.Points {
			op := "L"
			if j == 0 {
				op = "M"
			}
			fmt.Fprintf(&path, "%s%s %s", op, num(x.at(p.X)), num(y.at(p.Y)))
		}
		fmt.Fprintf(&c.body, `<path d="%s" fill="none" stroke="%s" stroke-width="2.5" stroke-linejoin="round"/>`+"\n", path.String(), colour(i))
		for _, p := range line.Points {
			fmt.Fprintf(&c.body, `<circle cx="%s" cy="%s" r="4" fill="%s" stroke="%s" stroke-width="1.5"/>`+"\n",
				num(x.at(p.X)), num(y.at(p.Y)), colour(i), paper)
			label := l.FormatY(p.Y)
			b := box{x.at(p.X) - tickStyle.extent(label)/2, y.at(p.Y) - 22, tickStyle.extent(label), 14}
			if !slices.ContainsFunc(taken, b.overlaps) {
				taken = append(taken, b)
				c.halo(x.at(p.X), y.at(p.Y)-10, label)
			}
		}
	}
	c.y = bottom + 44
	return c.finish(l.Frame)
}
