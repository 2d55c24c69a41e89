// Package chart draws bars and lines as SVG: readable fonts, axes with units,
// colours that the colour-blind can tell apart, and a caption that says where
// the numbers come from. The same data gives the same bytes.
package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Frame is what every chart has.
type Frame struct {
	// Title says what is to be seen, Subtitle what was measured.
	Title, Subtitle string
	// Caption names machine, commit and command; each element begins a line.
	Caption []string
}

const (
	width  = 880.0
	margin = 28.0

	ink   = "#1f2933"
	grey  = "#5f6c7b"
	rule  = "#d9dfe6"
	paper = "#ffffff"
)

// palette is that of Okabe and Ito, strongest contrast first.
var palette = []string{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a8f98"}

func colour(i int) string { return palette[i%len(palette)] }

// canvas is a drawing that grows downwards.
type canvas struct {
	body bytes.Buffer
	y    float64 // where the next part begins
}

func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // A strings.Builder takes everything.
	return b.String()
}

// type of a text: its size in pixels, its weight and its colour.
type style struct {
	size   float64
	weight string
	fill   string
}

var (
	titleStyle    = style{20, "600", ink}
	subtitleStyle = style{14, "400", grey}
	labelStyle    = style{13, "400", ink}
	strongStyle   = style{13, "600", ink}
	tickStyle     = style{12, "400", grey}
	captionStyle  = style{11, "400", grey}
)

// extent estimates how wide a text is, with a little room to spare: the fonts
// are the reader's.
func (s style) extent(text string) float64 {
	width := 0.58
	if s.weight == "600" {
		width = 0.66
	}
	return float64(utf8.RuneCountInString(text)) * s.size * width
}

// text writes at (x, y), the base line; anchor is start, middle or end.
func (c *canvas) text(x, y float64, s style, anchor, text string) {
	fmt.Fprintf(&c.body, `<text x="%s" y="%s" font-size="%s" font-weight="%s" fill="%s" text-anchor="%s">%s</text>`+"\n",
		num(x), num(y), num(s.size), s.weight, s.fill, anchor, escape(text))
}

// halo writes the label of a point, legible above lines.
func (c *canvas) halo(x, y float64, text string) {
	fmt.Fprintf(&c.body, `<text x="%s" y="%s" font-size="%s" fill="%s" text-anchor="middle" stroke="%s" stroke-width="4" stroke-linejoin="round" paint-order="stroke">%s</text>`+"\n",
		num(x), num(y), num(tickStyle.size), tickStyle.fill, paper, escape(text))
}

func (c *canvas) line(x1, y1, x2, y2 float64, stroke string) {
	fmt.Fprintf(&c.body, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s"/>`+"\n", num(x1), num(y1), num(x2), num(y2), stroke)
}

func (c *canvas) rect(x, y, w, h float64, fill string) {
	fmt.Fprintf(&c.body, `<rect x="%s" y="%s" width="%s" height="%s" rx="2" fill="%s"/>`+"\n", num(x), num(y), num(w), num(h), fill)
}

// head writes title, subtitle and legend, and moves on to below them.
func (c *canvas) head(f Frame, series []string) {
	c.y = margin + 16
	c.text(margin, c.y, titleStyle, "start", f.Title)
	for _, line := range wrap(f.Subtitle, subtitleStyle) {
		c.y += 22
		c.text(margin, c.y, subtitleStyle, "start", line)
	}
	x := margin
	c.y += 28
	for i, name := range series {
		w := 18 + labelStyle.extent(name) + 18
		if x+w > width-margin && x > margin {
			x, c.y = margin, c.y+20
		}
		c.rect(x, c.y-11, 12, 12, colour(i))
		c.text(x+18, c.y, labelStyle, "start", name)
		x += w
	}
	c.y += 16
}

// finish writes the caption and returns the whole drawing.
func (c *canvas) finish(f Frame) []byte {
	c.y += 10
	for _, paragraph := range f.Caption {
		for _, line := range wrap(paragraph, captionStyle) {
			c.y += 15
			c.text(margin, c.y, captionStyle, "start", line)
		}
	}
	height := c.y + margin - 8
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" `+
		`font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif">`+"\n",
		num(width), num(height), num(width), num(height))
	fmt.Fprintf(&out, "<title>%s</title>\n<desc>%s</desc>\n", escape(f.Title), escape(f.Subtitle))
	fmt.Fprintf(&out, `<rect width="%s" height="%s" fill="%s"/>`+"\n", num(width), num(height), paper)
	out.Write(c.body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// wrap breaks a text into lines that fit the width.
func wrap(text string, s style) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && s.extent(longer) > width-2*margin {
			lines = append(lines, line)
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
