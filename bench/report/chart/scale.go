package chart

import (
	"math"
	"slices"
)

// scale maps values to pixels.
type scale struct {
	lo, hi   float64 // values
	from, to float64 // pixels
	log      bool
}

func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	if hi == lo {
		return (s.from + s.to) / 2
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

// linear spans 0 to the first round number that is at least most, and returns
// the ticks.
func linear(most, from, to float64) (s scale, ticks []float64) {
	ticks = round(most)
	return scale{hi: ticks[len(ticks)-1], from: from, to: to}, ticks
}

// round returns five or so round numbers from 0 to at least most.
func round(most float64) (ticks []float64) {
	if !(most > 1e-300) || math.IsInf(most, 0) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/5)))
	for _, m := range []float64{1, 2, 5, 10} {
		if most/(step*m) <= 6 {
			step *= m
			break
		}
	}
	for i := 0.0; ; i++ {
		ticks = append(ticks, i*step)
		if i*step >= most*0.999999 {
			return ticks
		}
	}
}

// logarithmic spans the powers of ten around least and most; its ticks are
// those.
func logarithmic(least, most, from, to float64) (s scale, ticks []float64) {
	lo, hi := math.Floor(math.Log10(least)+1e-9), math.Ceil(math.Log10(most)-1e-9)
	if hi <= lo {
		hi = lo + 1
	}
	for e := lo; e <= hi; e++ {
		ticks = append(ticks, math.Pow(10, e))
	}
	return scale{lo: ticks[0], hi: ticks[len(ticks)-1], from: from, to: to, log: true}, ticks
}

// distinct sorts values and drops what comes twice.
func distinct(values []float64) []float64 {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}
