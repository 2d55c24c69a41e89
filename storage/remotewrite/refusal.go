package remotewrite

import (
	"cmp"
	"slices"

	"github.com/otlpgw/otlpgw/storage"
)

// refuse returns what a far end's answer leaves out of rows: all of them when
// it says nothing of what it wrote, otherwise, for each kind, as many as are
// missing. Which ones it does not say, unless all of a kind are.
func refuse(rows []Row, w written, all bool, reason string) []storage.Refusal {
	if all {
		return refuseKind(nil, rows, func(*Row) bool { return true }, -1, reason)
	}
	out := refuseKind(nil, rows, func(r *Row) bool { return !r.isHistogram() }, w.samples, reason)
	return refuseKind(out, rows, (*Row).isHistogram, w.histograms, reason)
}

func refuseKind(dst []storage.Refusal, rows []Row, of func(*Row) bool, written int, reason string) []storage.Refusal {
	var numbers []int
	sent := 0
	for i := range rows {
		if of(&rows[i]) {
			sent++
			numbers = append(numbers, rows[i].N)
		}
	}
	missing := sent - max(written, 0)
	if missing <= 0 {
		return dst
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if missing == sent {
		return appendExact(dst, numbers, reason)
	}
	// Several rows may be one append, so that fewer appends may be missing.
	return append(dst, storage.Refusal{
		First: numbers[0], Last: numbers[len(numbers)-1],
		Count: min(missing, len(numbers)), Reason: reason,
	})
}

// appendExact appends the ranges of consecutive numbers, which are ascending.
func appendExact(dst []storage.Refusal, numbers []int, reason string) []storage.Refusal {
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[n-1]+1 {
			n++
		}
		dst = append(dst, storage.Refusal{First: numbers[0], Last: numbers[n-1], Count: n, Reason: reason})
		numbers = numbers[n:]
	}
	return dst
}

// MergeRefusals combines what several requests and destinations refused of one
// transaction into ranges that are ascending and do not overlap. byParty has a
// list for each destination. Where ranges overlap, the merged one counts what
// the destination that refused most did: two that refuse the same samples for
// the same fault must not count twice.
func MergeRefusals(byParty ...[]storage.Refusal) []storage.Refusal {
	type entry struct {
		storage.Refusal
		party int
	}
	var all []entry
	for p, refusals := range byParty {
		for _, r := range refusals {
			all = append(all, entry{r, p})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	var out []storage.Refusal
	for len(all) > 0 {
		merged, n := all[0].Refusal, 1
		for n < len(all) && all[n].First <= merged.Last {
			merged.Last = max(merged.Last, all[n].Last)
			n++
		}
		if n > 1 {
			// exact[i] says that append First+i was certainly refused.
			exact := make([]bool, merged.Last-merged.First+1)
			counts := make([]int, len(byParty))
			for _, e := range all[:n] {
				counts[e.party] += e.Count
				if e.Count == e.Last-e.First+1 {
					for i := e.First; i <= e.Last; i++ {
						exact[i-merged.First] = true
					}
				}
			}
			certain := 0
			for _, yes := range exact {
				if yes {
					certain++
				}
			}
			merged.Count = min(max(certain, slices.Max(counts)), len(exact))
		}
		out = append(out, merged)
		all = all[n:]
	}
	return out
}
