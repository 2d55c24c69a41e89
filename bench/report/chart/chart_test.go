package chart

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/bench/paired/quantity"
)

var rewrite = flag.Bool("rewrite", false, "renew the golden files")

func format(unit string) func(float64) string {
	return func(v float64) string { return quantity.Format(unit, v) }
}

var frame = Frame{
	Title:    "Samples per second, <whole handler> & HTTP",
	Subtitle: "Warm requests on one core; more is better",
	Caption: []string{
		"Some CPU, 2 cores (virtual), 24.0 GiB, linux/amd64 6.18.44, go1.26.8",
		"commit 0123456789ab, 2026-12-01: go test ./bench -run '^$' -bench . -count=5 -cpu=1 with a command that is longer than one line of a caption can be, and then some",
	},
}

var charts = map[string]interface{ SVG() []byte }{
	"bars.svg": Bars{
		Frame: frame, Axis: "samples per second", Format: format("samples/s"),
		Series: []string{"otlpgw", "prometheus", "vmagent-unpromoted"},
		Groups: []Group{
			{"small", []Bar{{0, 1.9e6, "24×"}, {1, 79e3, ""}}},
			{"sdk", []Bar{{0, 21.3e6, "34×"}, {1, 620e3, ""}, {2, 0, ""}}},
			{"batch", []Bar{{0, 10.7e6, "18×"}, {1, 590e3, ""}}},
		},
	},
	"lines.svg": Lines{
		Frame: frame, XAxis: "cached series", YAxis: "time per sample", LogX: true, LogY: true,
		FormatX: format(""), FormatY: format("ns"),
		Lines: []Line{
			{"otlpgw", []Point{{1e4, 48}, {1e5, 61}, {1e6, 95}}},
			{"prometheus", []Point{{1e4, 1600}, {1e5, 1720}, {1e6, 1900}}},
		},
	},
	"linear.svg": Lines{
		Frame: frame, XAxis: "processors", YAxis: "samples per second", FormatX: format(""), FormatY: format("samples/s"),
		Lines: []Line{{"sdk", []Point{{1, 21e6}, {2, 40e6}, {4, 39e6}}}},
	},
	"own.svg": Bars{
		Frame: frame, Axis: "bytes allocated per request; each on a scale of its own", Format: format("B/op"), OwnScale: true,
		Series: []string{"otlpgw", "prometheus"},
		Groups: []Group{
			{"small", []Bar{{0, 2, ""}, {1, 15583, ""}}},
			{"batch", []Bar{{0, 0, ""}, {1, 23623560, ""}}},
		},
	},
	"crowd.svg": Lines{
		Frame: frame, XAxis: "processors", YAxis: "samples per second", FormatX: format(""), FormatY: format("samples/s"),
		Lines: []Line{{"one", []Point{{1, 20e6}, {2, 40e6}}}, {"two", []Point{{1, 20.1e6}, {2, 20e6}}}},
	},
	"empty.svg": Lines{Frame: frame},
	"bare.svg":  Bars{Format: format("B/op"), Series: []string{"a"}, Groups: []Group{{"x", []Bar{{0, 0, ""}}}}},
}

func TestGolden(t *testing.T) {
	for name, c := range charts {
		t.Run(name, func(t *testing.T) {
			got := c.SVG()
			path := filepath.Join("testdata", name)
			if *rewrite {
				require.NoError(t, os.WriteFile(path, got, 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
			require.Equal(t, got, c.SVG(), "the same data gives the same bytes")
		})
	}
}

// Every chart is well-formed, and nothing lies outside of it.
func TestWellFormed(t *testing.T) {
	for name, c := range charts {
		t.Run(name, func(t *testing.T) {
			d := xml.NewDecoder(bytes.NewReader(c.SVG()))
			d.Strict = true
			var height float64
			attrs := map[string]string{}
			depth := 0
			text := ""
			at := func(key string) float64 {
				v, err := strconv.ParseFloat(attrs[key], 64)
				require.NoError(t, err, "%s=%q", key, attrs[key])
				return v
			}
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				switch e := token.(type) {
				case xml.StartElement:
					depth++
					text = ""
					attrs = map[string]string{}
					for _, a := range e.Attr {
						attrs[a.Name.Local] = a.Value
					}
					if depth == 1 {
						require.Equal(t, "svg", e.Name.Local)
						require.Equal(t, width, at("width"))
						height = at("height")
					}
				case xml.CharData:
					text += string(e)
				case xml.EndElement:
					depth--
					switch e.Name.Local {
					case "text":
						s := style{size: at("font-size")}
						lo, hi := at("x"), at("x")
						switch w := s.extent(text); attrs["text-anchor"] {
						case "start":
							hi += w
						case "middle":
							lo, hi = lo-w/2, hi+w/2
						case "end":
							lo -= w
						}
						require.GreaterOrEqual(t, lo, 0.0, text)
						require.LessOrEqual(t, hi, width, text)
						require.Less(t, at("y"), height, text)
						require.GreaterOrEqual(t, at("y")-s.size, 0.0, text)
					case "rect":
						if attrs["x"] != "" {
							require.LessOrEqual(t, at("x")+at("width"), width)
							require.LessOrEqual(t, at("y")+at("height"), height)
							require.GreaterOrEqual(t, at("width"), 0.0)
						}
					case "circle":
						require.LessOrEqual(t, at("cx"), width)
						require.LessOrEqual(t, at("cy"), height)
					}
				}
			}
			require.Zero(t, depth)
		})
	}
}

// A bar is as long as its value says.
func TestBarsAreProportional(t *testing.T) {
	svg := string(Bars{
		Format: format(""), Series: []string{"a", "b"},
		Groups: []Group{{"x", []Bar{{0, 100, ""}, {1, 25, ""}}}},
	}.SVG())
	widths := map[string]float64{}
	for line := range strings.Lines(svg) {
		var r struct {
			Width  float64 `xml:"width,attr"`
			Height float64 `xml:"height,attr"`
			Fill   string  `xml:"fill,attr"`
		}
		if strings.HasPrefix(line, "<rect") && xml.Unmarshal([]byte(line), &r) == nil && r.Height == 18 {
			widths[r.Fill] = r.Width
		}
	}
	require.Len(t, widths, 2)
	require.InDelta(t, 4, widths[colour(0)]/widths[colour(1)], 0.01)
}

func TestScale(t *testing.T) {
	s, ticks := linear(23.1e6, 100, 600)
	require.Equal(t, []float64{0, 5e6, 10e6, 15e6, 20e6, 25e6}, ticks)
	require.InDelta(t, 100, s.at(0), 1e-9)
	require.InDelta(t, 600, s.at(25e6), 1e-9)
	for _, most := range []float64{0, 5e-324, 0.003, 1, 1.01, 6, 7, 99, 1e12, math.Inf(1), math.NaN()} {
		s, ticks := linear(most, 0, 1)
		require.Greater(t, s.hi, 0.0)
		require.LessOrEqual(t, len(ticks), 8, "%v: %v", most, ticks)
		require.GreaterOrEqual(t, len(ticks), 3, "%v: %v", most, ticks)
	}
	s, ticks = logarithmic(48, 1900, 0, 300)
	require.InDeltaSlice(t, []float64{10, 100, 1000, 10000}, ticks, 1e-6)
	require.InDelta(t, 100, s.at(100), 1e-6)
	_, ticks = logarithmic(100, 100, 0, 1)
	require.InDeltaSlice(t, []float64{100, 1000}, ticks, 1e-6)
	require.Equal(t, 0.5, scale{lo: 3, hi: 3, from: 0, to: 1}.at(3), "one value lies in the middle")
}

func TestWrap(t *testing.T) {
	lines := wrap(strings.Repeat("word ", 100), captionStyle)
	require.Greater(t, len(lines), 1)
	for _, line := range lines {
		require.LessOrEqual(t, captionStyle.extent(line), width-2*margin)
	}
	require.Equal(t, 100, len(strings.Fields(strings.Join(lines, " "))))
	require.Empty(t, wrap("", captionStyle))
}
