// Package quantity writes numbers for people: four digits at most, with the
// prefix that fits.
package quantity

import (
	"math"
	"strconv"
	"strings"
)

// Format writes a value of the given unit of a benchmark: 1234567 ns/op is
// "1.235 ms", 2048 B/op is "2 KiB", 23100000 samples/s is "23.1 M". What the
// quantity is counted per stands in the column's head.
func Format(unit string, v float64) string { return format(unit, v, 4) }

// Short is Format with three digits at most, for pictures.
func Short(unit string, v float64) string { return format(unit, v, 3) }

func format(unit string, v float64, digits int) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 0):
		return signed(v)
	}
	switch of(unit) {
	case "ns":
		return scaled(v, digits, 1000, "ns", "µs", "ms", "s")
	case "B", "bytes":
		return scaled(v, digits, 1024, "B", "KiB", "MiB", "GiB")
	case "MB":
		return decimal(v, digits)
	}
	return scaled(v, digits, 1000, "", "k", "M", "G")
}

// of is what a unit counts, without what it is counted per and whose it is:
// B for "prometheus-B/op".
func of(unit string) string {
	unit, _, _ = strings.Cut(unit, "/")
	return unit[strings.LastIndexByte(unit, '-')+1:]
}

// Percent writes a fraction: "+3.21 %".
func Percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	p := x * 100
	if math.Abs(p) < 0.005 {
		p = 0
	}
	precision := 2
	if math.Abs(p) >= 100 {
		precision = 0
	}
	if math.IsInf(p, 0) || p == 0 {
		return signed(p) + " %"
	}
	s := strconv.FormatFloat(math.Abs(p), 'f', precision, 64)
	if p < 0 {
		return "−" + s + " %"
	}
	return "+" + s + " %"
}

// Difference writes a difference of two values of the given unit, with its sign.
func Difference(unit string, v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0) || v == 0:
		return Format(unit, v)
	case v < 0:
		return "−" + Format(unit, -v)
	}
	return "+" + Format(unit, v)
}

func signed(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	return decimal(v, 4)
}

func scaled(v float64, digits int, step float64, prefixes ...string) string {
	i := 0
	for ; i < len(prefixes)-1 && math.Abs(v) >= step*0.9995; i++ {
		v /= step
	}
	return strings.TrimSpace(decimal(v, digits) + " " + prefixes[i])
}

// decimal writes so many significant digits, without trailing zeros.
func decimal(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(math.Abs(v)))))
	s := strconv.FormatFloat(v, 'f', min(decimals, 9), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
