package remotewrite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCircuit(t *testing.T) {
	var c circuit
	now := time.Unix(1000, 0)
	require.Zero(t, c.admit(now))
	require.False(t, c.answered(now, false, true))

	require.True(t, c.answered(now, true, false), "opens")
	require.False(t, c.answered(now, true, false), "another in flight is no news")
	require.Equal(t, minOpen, c.admit(now))
	now = now.Add(minOpen)
	require.Zero(t, c.admit(now), "the probe")
	require.NotZero(t, c.admit(now), "no second probe")
	c.answered(now, false, false)
	require.Zero(t, c.admit(now), "a probe without an answer leaves the place to the next")
	require.False(t, c.answered(now, true, false), "still open")
	require.Equal(t, 2*minOpen, c.admit(now), "for longer")
	for range 10 {
		now = now.Add(maxOpen)
		require.Zero(t, c.admit(now))
		c.answered(now, true, false)
	}
	require.Equal(t, maxOpen, c.admit(now), "but not for ever")
	now = now.Add(maxOpen)
	require.Zero(t, c.admit(now))
	require.True(t, c.answered(now, false, true), "closes")
	require.Zero(t, c.admit(now))
	c.answered(now, true, false)
	require.Equal(t, minOpen, c.admit(now), "and begins anew")
}

func TestProtocol(t *testing.T) {
	now := time.Unix(1000, 0)
	p := protocol{message: MessageV1}
	require.False(t, p.speaksV2(now))

	p = protocol{}
	require.True(t, p.speaksV2(now))
	require.True(t, p.doubts())
	require.True(t, p.fellBack(now))
	require.False(t, p.fellBack(now), "no news")
	require.False(t, p.speaksV2(now.Add(reprobeAfter-1)))
	now = now.Add(reprobeAfter)
	require.True(t, p.speaksV2(now), "one asks again")
	require.False(t, p.speaksV2(now), "the others wait for what comes of it")
	require.True(t, p.acceptedV2())
	require.True(t, p.speaksV2(now))
	require.False(t, p.doubts(), "it has taken 2.0 before")

	p = protocol{message: MessageV2}
	require.False(t, p.doubts(), "the user says that it takes 2.0")
}

func TestBackoff(t *testing.T) {
	for attempt := range 100 {
		d := backoff(time.Second, 10*time.Second, attempt)
		top := 10 * time.Second
		if attempt < 4 {
			top = time.Second << attempt
		}
		require.GreaterOrEqual(t, d, top/2)
		require.LessOrEqual(t, d, top)
	}
}

func TestSequence(t *testing.T) {
	table := NewTable(DefaultMaxSeries, Rule{})
	a, b := table.Series(0, numbered(1), 0), table.Series(0, numbered(2), 0)
	row := func(s *Series, t int64, n int) Row { return rowOf(s, Sample{T: t, N: n}) }
	var s sequence

	in := []Row{row(a, 1, 0), row(a, 1, 1), row(a, 2, 2), row(b, 1, 3)}
	out := s.order(in)
	require.Same(t, &in[0], &out[0], "rows in order are not copied")

	in = []Row{row(a, 2, 0), row(b, 5, 1), row(a, 1, 2), row(b, 5, 3), row(a, 2, 4)}
	require.Equal(t, []Row{row(a, 1, 2), row(a, 2, 0), row(a, 2, 4), row(b, 5, 1), row(b, 5, 3)}, s.order(in),
		"series together, by time, equal times as they came")
	s.reset()
	require.Nil(t, s.out[:1][0].Form)
}
