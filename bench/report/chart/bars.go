package chart

// Bars compares what several parties reach, in groups that lie below one
// another. Its axis begins at zero.
type Bars struct {
	Frame
	// Axis says what is counted, with the unit.
	Axis string
	// OwnScale gives each group a scale of its own, where the groups are too
	// different to be compared with one another.
	OwnScale bool
	// Format writes a value beside its bar and a tick below the axis.
	Format func(float64) string
	// Series are the parties; each has a colour.
	Series []string
	Groups []Group
}

// Group is what one measurement says of the parties that took part.
type Group struct {
	Name string
	Bars []Bar
}

// Bar is one party's. Note stands behind the value.
type Bar struct {
	Series int
	Value  float64
	Note   string
}

// SVG draws the chart.
func (b Bars) SVG() []byte {
	const barHeight, barGap, groupGap = 18.0, 4.0, 18.0
	c := &canvas{}
	c.head(b.Frame, b.Series)

	names := 0.0
	for _, g := range b.Groups {
		names = max(names, strongStyle.extent(g.Name))
	}
	left := margin + names + 14
	scales := make([]scale, len(b.Groups))
	for i := range b.Groups {
		scales[i] = b.scale(b.Groups, left)
		if b.OwnScale {
			scales[i] = b.scale(b.Groups[i:i+1], left)
		}
	}

	top := c.y
	bottom := top
	for i, g := range b.Groups {
		if i > 0 {
			bottom += groupGap
		}
		bottom += float64(len(g.Bars)) * (barHeight + barGap)
	}
	axis := bottom + 22
	if !b.OwnScale && len(scales) > 0 {
		for _, tick := range round(scales[0].hi) {
			if x := scales[0].at(tick); x <= scales[0].to+0.5 {
				c.line(x, top, x, bottom+6, rule)
				c.text(x, axis, tickStyle, "middle", b.Format(tick))
			}
		}
		axis += 20
	}
	y := top
	for i, g := range b.Groups {
		middle := y + float64(len(g.Bars))*(barHeight+barGap)/2
		c.text(left-14, middle+2, strongStyle, "end", g.Name)
		for _, bar := range g.Bars {
			w := scales[i].at(bar.Value) - left
			c.rect(left, y, max(w, 1), barHeight, colour(bar.Series))
			c.text(left+max(w, 1)+8, y+barHeight-4.5, labelStyle, "start", b.label(bar))
			y += barHeight + barGap
		}
		y += groupGap
	}
	c.line(left, top, left, bottom+6, grey)
	c.text(left, axis, tickStyle, "start", b.Axis)
	c.y = axis + 2
	return c.finish(b.Frame)
}

// scale spans 0 to the longest bar, and is as wide as leaves room for what
// stands behind every bar.
func (b Bars) scale(groups []Group, left float64) scale {
	most := 0.0
	for _, g := range groups {
		for _, bar := range g.Bars {
			most = max(most, bar.Value)
		}
	}
	wide := width - margin - left
	for _, g := range groups {
		for _, bar := range g.Bars {
			if share := bar.Value / most; bar.Value > 0 {
				wide = min(wide, (width-margin-left-10-labelStyle.extent(b.label(bar)))/share)
			}
		}
	}
	if most == 0 {
		most = 1 // Nothing was needed: no bar, but a scale.
	}
	return scale{hi: most, from: left, to: left + wide}
}

func (b Bars) label(bar Bar) string {
	if bar.Note == "" {
		return b.Format(bar.Value)
	}
	return b.Format(bar.Value) + "  " + bar.Note
}
