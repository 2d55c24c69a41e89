// Package stat says how sure a median is. It assumes nothing about how the
// samples are distributed: benchmark times have long tails, and a machine's
// noise is not normal.
package stat

import (
	"math"
	"slices"
)

// Median returns the middle of x, or the mean of the two middle values, and
// NaN if there is none. x is left as it is.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	if n%2 == 1 || s[n/2-1] == s[n/2] {
		return s[n/2] // Also where both are the same infinity.
	}
	return s[n/2-1]/2 + s[n/2]/2
}

// Range is a confidence range, ends included. Confidence is the probability
// that it holds what it is a range of.
type Range struct {
	Lo, Hi, Confidence float64
}

// Excludes reports whether x lies outside.
func (r Range) Excludes(x float64) bool { return x < r.Lo || x > r.Hi }

// MedianRange returns the range that holds the median of the distribution
// which x was drawn from with at least the given confidence: the narrowest pair
// of order statistics that are equally far from both ends. It is the inversion
// of the sign test: how many of n samples lie under the median is binomial with
// p = 1/2, whatever the distribution. The range is a little wider than asked
// for, since ranks are whole numbers; its Confidence is the exact one.
//
// With too few samples (under 6 for 95 %) nothing can be said, and the range is
// everything.
func MedianRange(x []float64, confidence float64) Range {
	low, exact := Rank(len(x), confidence)
	if low == 0 {
		return Range{math.Inf(-1), math.Inf(1), 1}
	}
	s := slices.Sorted(slices.Values(x))
	return Range{s[low-1], s[len(s)-low], exact}
}

// Rank returns which of n samples in order, counted from 1, is the lower end of
// the range of the median, and the exact confidence of that range; the upper
// end is as far from the other side. It returns 0 if n samples are too few.
func Rank(n int, confidence float64) (low int, exact float64) {
	// The range from rank r to n+1-r misses the median if fewer than r samples
	// lie on one of its sides.
	missed := 0.0 // P(fewer than r on one side)
	for r := 1; r <= n/2; r++ {
		missed += choose(n, r-1)
		if 1-2*missed < confidence {
			break
		}
		low, exact = r, 1-2*missed
	}
	return low, exact
}

// choose returns the probability of k heads in n tosses of a fair coin.
func choose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return math.Exp(lg(n) - lg(k) - lg(n-k) - float64(n)*math.Ln2)
}
