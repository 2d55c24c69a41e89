package series

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// Stories of one series. A step is an operation and, for a check, what it finds:
//
//	offer TXN MS VALUE     the sample goes to the backend
//	ack TXN MS VALUE       its commit returned nil
//	fail TXN MS VALUE      its commit failed, or the sample was refused
//	check TXN MS VALUE = VERDICT
func TestRecord(t *testing.T) {
	for name, story := range map[string]string{
		"a new series takes anything": `
			check 1 -5 1 = fresh
			check 1 0 1 = fresh`,
		"newer is fresh": `
			offer 1 10 1
			check 1 11 1 = fresh
			check 2 11 1 = fresh
			ack 1 10 1
			check 3 11 1 = fresh`,
		"the same sample twice in a request": `
			offer 1 10 1
			check 1 10 1 = same`,
		"another value in the same request": `
			offer 1 10 1
			check 1 10 2 = conflict`,
		"an older sample of the same request is looked up by the caller": `
			offer 1 10 1
			check 1 9 1 = late
			check 1 9 2 = late`,
		"a retry after an answer": `
			offer 1 10 1
			ack 1 10 1
			check 2 10 1 = repeated
			check 1 10 1 = repeated`,
		"another value after an answer": `
			offer 1 10 1
			ack 1 10 1
			check 2 10 2 = conflict`,
		"a retry of what is in flight is sent too: only its own commit tells": `
			offer 1 10 1
			check 2 10 1 = fresh`,
		"another value for what is in flight": `
			offer 1 10 1
			check 2 10 2 = conflict`,
		"a retry after a failed commit": `
			offer 1 10 1
			fail 1 10 1
			check 2 10 1 = fresh
			offer 2 10 1
			ack 2 10 1
			check 3 10 1 = repeated`,
		"what a failed commit lost may be another value": `
			offer 1 10 1
			fail 1 10 1
			check 2 10 2 = fresh
			offer 2 10 2
			ack 2 10 2
			check 3 10 1 = conflict
			check 3 10 2 = repeated`,
		"the time before a failed one is still acknowledged": `
			offer 1 10 1
			ack 1 10 1
			offer 2 20 1
			fail 2 20 1
			check 3 10 1 = repeated
			check 3 10 2 = conflict
			check 3 20 2 = fresh`,
		"older than what is acknowledged is the backend's to decide": `
			offer 1 10 1
			ack 1 10 1
			check 2 9 1 = fresh
			check 2 -9 1 = fresh`,
		"between two requests in flight": `
			offer 1 10 1
			check 2 9 1 = fresh
			offer 2 9 1
			ack 2 9 1
			check 3 9 1 = repeated
			ack 1 10 1
			check 3 10 1 = repeated`,
		"an older acknowledgement does not take the newer one back": `
			offer 1 10 1
			offer 2 20 2
			ack 2 20 2
			ack 1 10 1
			check 3 20 2 = repeated
			check 3 20 1 = conflict
			check 3 10 1 = fresh`,
		"a failure of an older request leaves the newer one in flight": `
			offer 1 10 1
			offer 2 20 2
			fail 1 10 1
			check 3 20 1 = conflict
			ack 2 20 2
			check 3 20 2 = repeated`,
		"two requests with one sample: the first fails, the second is answered": `
			offer 1 10 1
			offer 2 10 1
			fail 1 10 1
			check 3 10 2 = conflict
			ack 2 10 1
			check 3 10 1 = repeated`,
		"bits are compared, not numbers": `
			offer 1 10 0x8000000000000000
			ack 1 10 0x8000000000000000
			check 2 10 0 = conflict
			check 2 10 0x8000000000000000 = repeated`,
		"the smallest time": `
			offer 1 -9223372036854775807 1
			check 2 -9223372036854775807 2 = conflict
			ack 1 -9223372036854775807 1
			check 2 -9223372036854775807 1 = repeated`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup([]labels.Labels{labels.EmptyLabels()}, new(Target))
			for line := range strings.SplitSeq(strings.TrimSpace(story), "\n") {
				line = strings.TrimSpace(line)
				var op, equals, want string
				var txn uint32
				var ms int64
				var bits uint64
				n, _ := fmt.Sscan(line, &op, &txn, &ms, &bits, &equals, &want)
				require.GreaterOrEqual(t, n, 4, line)
				switch op {
				case "offer":
					g.Offer(ms, []uint64{bits}, txn)
				case "ack", "fail":
					g.Settle(ms, []uint64{bits}, txn, op == "ack")
				case "check":
					for range 2 { // A check changes nothing.
						require.Equal(t, want, verdictNames[g.Check(0, ms, bits, txn)], line)
					}
				default:
					t.Fatal(line)
				}
			}
		})
	}
}

var verdictNames = map[Verdict]string{Fresh: "fresh", Same: "same", Repeated: "repeated", Conflict: "conflict", Late: "late"}

// history is what the marks of a series sum up: all that ever happened to a series.
type history struct {
	offers []offered
	acked  []offered
}

type offered struct {
	ms   int64
	bits uint64
	txn  uint32
	open bool
}

// newest returns the last of the offers with the highest time.
func (h *history) newest() *offered {
	var n *offered
	for i := range h.offers {
		if o := &h.offers[i]; n == nil || o.ms >= n.ms {
			n = o
		}
	}
	return n
}

// latest returns the last of the acknowledged samples with the highest time.
func (h *history) latest() *offered {
	var n *offered
	for i := range h.acked {
		if o := &h.acked[i]; n == nil || o.ms >= n.ms {
			n = o
		}
	}
	return n
}

func (h *history) check(ms int64, bits uint64, txn uint32) Verdict {
	newest, acked := h.newest(), h.latest()
	switch {
	case newest == nil || ms > newest.ms:
		return Fresh
	case acked != nil && acked.ms == ms && acked.bits == bits:
		return Repeated
	case acked != nil && acked.ms == ms:
		return Conflict
	case ms < newest.ms && newest.open && newest.txn == txn:
		return Late
	case ms < newest.ms:
		return Fresh
	case newest.bits != bits && newest.open:
		return Conflict
	case newest.bits == bits && newest.open && newest.txn == txn:
		return Same
	}
	return Fresh
}

// Random requests that overlap: each offers some samples that were judged
// Fresh and is settled later, in any order. The marks agree with their history
// about every sample at every moment.
func TestRecordAgainstHistory(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		g := newGroup([]labels.Labels{labels.EmptyLabels()}, new(Target))
		h := new(history)
		open := make(map[uint32][]offered)
		txn := uint32(0)
		for range 60 {
			if rnd.IntN(2) == 0 || len(open) == 0 {
				txn++
				open[txn] = nil
				for range 1 + rnd.IntN(4) {
					ms, bits := int64(rnd.IntN(6)), uint64(rnd.IntN(3))
					if g.Check(0, ms, bits, txn) != Fresh {
						continue
					}
					o := offered{ms, bits, txn, true}
					g.Offer(ms, []uint64{bits}, txn)
					h.offers = append(h.offers, o)
					open[txn] = append(open[txn], o)
				}
			} else {
				done := txn
				for open[done] == nil && done > 0 || rnd.IntN(2) == 0 && done > 1 {
					done--
				}
				acknowledged := rnd.IntN(3) > 0
				for _, o := range open[done] {
					g.Settle(o.ms, []uint64{o.bits}, done, acknowledged)
					if acknowledged {
						h.acked = append(h.acked, o)
					}
				}
				for i := range h.offers {
					if h.offers[i].txn == done {
						h.offers[i].open = false
					}
				}
				delete(open, done)
			}
			for ms := range int64(7) {
				for bits := range uint64(3) {
					for who := max(txn, 4) - 4; who <= txn+1; who++ {
						if want, got := h.check(ms, bits, who), g.Check(0, ms, bits, who); want != got {
							t.Fatalf("seed %d: %d at %d for %d is %s, not %s; %+v",
								seed, bits, ms, who, verdictNames[got], verdictNames[want], h)
						}
					}
				}
			}
			if a := h.latest(); a != nil {
				require.Equal(t, a.ms, g.AckedMs())
			} else {
				require.Equal(t, int64(math.MinInt64), g.AckedMs())
			}
			if o := h.newest(); o != nil {
				require.Equal(t, o.ms, g.OfferedMs())
			}
		}
	}
}

func TestRecordRef(t *testing.T) {
	r := newGroup([]labels.Labels{labels.FromStrings("a", "b")}, nil).Record(0)
	require.Zero(t, r.Ref())
	r.SetRef(math.MaxUint64)
	require.EqualValues(t, uint64(math.MaxUint64), r.Ref())
}
