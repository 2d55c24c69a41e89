package series

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// The series of a point share their marks until one is written apart: from then
// on each has its own, which begin with what was known of all.
func TestAlone(t *testing.T) {
	sets := []labels.Labels{labels.FromStrings("a", "1"), labels.FromStrings("a", "2"), labels.FromStrings("a", "3")}
	owner := new(Target)
	g := newGroup(sets, owner)
	require.Equal(t, 3, g.Len())
	require.True(t, g.Whole())
	require.Same(t, owner, g.Record(1).Owner())

	g.Offer(10, []uint64{1, 2, 3}, 1)
	require.Equal(t, Same, g.Check(1, 10, 2, 1))
	g.Settle(10, []uint64{1, 2, 3}, 1, true)
	g.Offer(20, []uint64{4, 5, 6}, 2)

	one := g.Record(1).Alone()
	require.Same(t, one, g.Record(1).Alone())
	require.Same(t, g.Record(1), one.Record(0))
	require.Equal(t, 1, one.Len())
	require.True(t, one.Whole())
	require.Same(t, owner, one.Owner)
	require.False(t, g.Whole(), "its marks are not those of all any more")
	require.Equal(t, Repeated, one.Check(0, 10, 2, 3))
	require.Equal(t, Same, one.Check(0, 20, 5, 2))
	one.Offer(30, []uint64{7}, 3)

	// What was offered together is settled apart, and the others know nothing of
	// what the one got since.
	g.Settle(20, []uint64{4, 5, 6}, 2, true)
	require.EqualValues(t, 30, one.OfferedMs())
	require.EqualValues(t, 20, one.AckedMs())
	for i, bits := range []uint64{4, 5, 6} {
		r := g.Record(i)
		require.Equal(t, Repeated, r.Alone().Check(0, 20, bits, 4), "series %d", i)
		require.Equal(t, Conflict, r.Alone().Check(0, 20, bits+1, 4), "series %d", i)
		require.Equal(t, i == 1, r.Alone().OfferedMs() == 30)
	}
	one.Settle(30, []uint64{7}, 3, false)
	require.EqualValues(t, 20, one.AckedMs())
	require.Equal(t, Fresh, one.Check(0, 30, 8, 4))
}

// A group whose marks say that any value is fresh finds each value fresh.
func TestOpen(t *testing.T) {
	g := newGroup([]labels.Labels{labels.FromStrings("a", "1")}, new(Target))
	step := 0
	check := func() {
		step++
		for ms := range int64(6) {
			for txn := range uint32(5) {
				for bits := range uint64(3) {
					if g.Open(ms, txn) {
						require.Equal(t, Fresh, g.Check(0, ms, bits, txn), "step %d: %d at %d for %d", step, bits, ms, txn)
					}
				}
			}
		}
	}
	check()
	g.Offer(3, []uint64{1}, 1)
	check()
	g.Offer(2, []uint64{1}, 2)
	require.True(t, g.StagedIn(2))
	check()
	g.Settle(3, []uint64{1}, 1, true)
	check()
	g.Settle(2, []uint64{1}, 2, true)
	g.Offer(5, []uint64{2}, 3)
	check()
	require.True(t, g.Open(1, 4), "older than what others brought")
	require.False(t, g.Open(3, 4), "acknowledged")
	require.False(t, g.Open(1, 3), "this request's own may be among them")
}
