package remotewrite

import (
	"cmp"
	"slices"

	"github.com/otlpgw/otlpgw/storage"
)

// refuse appends rows as refused.
func refuse(dst []storage.Refusal, rows []Row, reason string) []storage.Refusal {
	return appendExact(dst, numbers(rows), reason)
}

// refuseSome appends that n of rows were refused. Several rows may be one
// append, so that it may be fewer appends.
func refuseSome(dst []storage.Refusal, rows []Row, n int, reason string) []storage.Refusal {
	all := numbers(rows)
	return append(dst, storage.Refusal{First: all[0], Last: all[len(all)-1], Count: min(n, len(all)), Reason: reason})
}

// numbers returns the appends that rows are, ascending.
func numbers(rows []Row) []int {
	out := make([]int, len(rows))
	for i := range rows {
		out[i] = rows[i].N
	}
	slices.Sort(out)
	return slices.Compact(out)
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
