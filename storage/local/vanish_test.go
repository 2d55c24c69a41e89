package local

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

func requireStored(t *testing.T, b *Backend, ls labels.Labels, want ...storagetest.Sample) {
	t.Helper()
	for i := range want {
		want[i].Labels = ls
	}
	require.Equal(t, storagetest.Text(want), storagetest.Text(read(t, b, ls)))
}

func requireRefused(t *testing.T, want string, err error) {
	t.Helper()
	reason, ok := storage.RefusalReason(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, reason)
}

// TestNewestFirstInOneTransaction is fact 9's second half.
func TestNewestFirstInOneTransaction(t *testing.T) {
	for name, value := range valueTypes {
		t.Run(name, func(t *testing.T) {
			b := open(t, Options{})
			now := time.Now().UnixMilli()
			ls := named("a")
			var want []storagetest.Sample
			x := begin(t, b)
			for i := range 40 { // More than one chunk of late samples holds.
				s := value(int64(i + 1))
				s.Labels, s.T = ls, now-int64(i)*1000
				x.add(s)
				want = append([]storagetest.Sample{s}, want...)
			}
			x.commit()
			requireStored(t, b, ls, want...)
		})
	}
}

var valueTypes = map[string]func(n int64) storagetest.Sample{
	"float":           func(n int64) storagetest.Sample { return storagetest.Sample{V: float64(n)} },
	"histogram":       func(n int64) storagetest.Sample { return storagetest.Sample{H: intHistogram(n)} },
	"float histogram": func(n int64) storagetest.Sample { return storagetest.Sample{FH: intHistogram(n).ToFloat(nil)} },
	"float and histogram": func(n int64) storagetest.Sample {
		if n%2 == 0 {
			return storagetest.Sample{V: float64(n)}
		}
		return storagetest.Sample{H: intHistogram(n)}
	},
}

// TestTooOldForTheWindow has a sample that the TSDB would take as in order,
// and drop in Commit once a newer one of the series is in.
func TestTooOldForTheWindow(t *testing.T) {
	b := open(t, Options{})
	now := time.Now().UnixMilli()
	put(t, b, storagetest.Sample{Labels: named("clock"), T: now, V: 1})
	const minute = 60_000

	x, y := begin(t, b), begin(t, b)
	err := x.try(storagetest.Sample{Labels: named("a"), T: now - 31*minute, V: 1})
	requireRefused(t, "too_old", err)
	require.ErrorContains(t, err, "out_of_order_time_window (30m0s)")
	x.add(storagetest.Sample{Labels: named("a"), T: now - 30*minute, V: 2})
	y.add(storagetest.Sample{Labels: named("a"), T: now - 29*minute, V: 3})
	y.commit()
	x.commit()
	requireStored(t, b, named("a"), storagetest.Sample{T: now - 30*minute, V: 2}, storagetest.Sample{T: now - 29*minute, V: 3})
}

// TestWindowIsFixedPerTransaction: newer samples that others commit do not
// make what is already appended too old.
func TestWindowIsFixedPerTransaction(t *testing.T) {
	b := open(t, Options{OutOfOrderTimeWindow: time.Minute})
	now := time.Now().UnixMilli()
	put(t, b, storagetest.Sample{Labels: named("clock"), T: now, V: 1})
	x := begin(t, b)
	x.add(storagetest.Sample{Labels: named("a"), T: now - 50_000, V: 1})
	put(t, b, storagetest.Sample{Labels: named("clock"), T: now + 3_600_000, V: 1}, storagetest.Sample{Labels: named("a"), T: now + 3_600_000, V: 2})
	x.commit()
	requireStored(t, b, named("a"), storagetest.Sample{T: now - 50_000, V: 1}, storagetest.Sample{T: now + 3_600_000, V: 2})
}

// TestFirstSamplesOfAll: the first transactions of an empty store overlap.
func TestFirstSamplesOfAll(t *testing.T) {
	b := open(t, Options{})
	now := time.Now().UnixMilli()
	x, y := begin(t, b), begin(t, b)
	x.add(storagetest.Sample{Labels: named("a"), T: now - 60_000, V: 1})
	y.add(storagetest.Sample{Labels: named("a"), T: now, V: 2})
	x.add(storagetest.Sample{Labels: named("a"), T: now - 120_000, V: 0})
	y.commit()
	x.commit()
	requireStored(t, b, named("a"), storagetest.Sample{T: now - 120_000, V: 0}, storagetest.Sample{T: now - 60_000, V: 1}, storagetest.Sample{T: now, V: 2})
}

// TestOtherValueInFlight: the TSDB would drop one of the two in Commit.
func TestOtherValueInFlight(t *testing.T) {
	now := time.Now().UnixMilli()
	at := func(s storagetest.Sample) storagetest.Sample {
		s.Labels, s.T = named("a"), now
		return s
	}
	for name, second := range map[string]storagetest.Sample{
		"float":           {V: 2},
		"histogram":       {H: intHistogram(1)},
		"float histogram": {FH: intHistogram(1).ToFloat(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, Options{})
			first := at(storagetest.Sample{V: 1})
			x, y := begin(t, b), begin(t, b)
			x.add(first)
			requireRefused(t, "conflict", x.try(at(second)))
			requireRefused(t, "conflict", y.try(at(second)))
			y.add(first)
			y.commit()
			requireRefused(t, "conflict", x.try(at(second)))
			x.commit()
			requireStored(t, b, named("a"), first)

			// Nothing is left in the table: what is refused now is compared with the store.
			for i := range b.flying.shards {
				require.Empty(t, b.flying.shards[i].points)
			}
			requireRefused(t, "conflict", begin2(t, b, at(second)))
		})
	}
}

// begin2 tries one sample in a transaction of its own and rolls it back.
func begin2(t *testing.T, b *Backend, s storagetest.Sample) error {
	x := begin(t, b)
	err := x.try(s)
	require.NoError(t, x.Rollback())
	return err
}

// TestOtherValueAfterRollback: what was rolled back conflicts with nothing.
func TestOtherValueAfterRollback(t *testing.T) {
	b := open(t, Options{})
	now := time.Now().UnixMilli()
	x := begin(t, b)
	x.add(storagetest.Sample{Labels: named("a"), T: now, V: 1})
	require.NoError(t, x.Rollback())
	put(t, b, storagetest.Sample{Labels: named("a"), T: now, V: 2})
	requireStored(t, b, named("a"), storagetest.Sample{T: now, V: 2})
}

// TestLateSampleThatIsThere: only the newest sample is compared by the TSDB.
func TestLateSampleThatIsThere(t *testing.T) {
	for name, value := range valueTypes {
		t.Run(name, func(t *testing.T) {
			b := open(t, Options{})
			now := time.Now().UnixMilli()
			at := func(n, ts int64) storagetest.Sample {
				s := value(n)
				s.Labels, s.T = named("a"), ts
				return s
			}
			inOrder, newest, late := at(1, now-2000), at(2, now), at(3, now-1000)
			put(t, b, inOrder)
			put(t, b, newest)
			put(t, b, late)
			for range 2 {
				put(t, b, inOrder, late, newest)
				requireRefused(t, "conflict", begin2(t, b, at(5, now-2000)))
				requireRefused(t, "conflict", begin2(t, b, at(5, now-1000)))
				requireStored(t, b, named("a"), inOrder, late, newest)
				// The same again once late samples are in a block of their own.
				require.NoError(t, b.store.db.CompactOOOHead(t.Context()))
			}
		})
	}
}

// TestSubsetOfLabels: the series read back is exactly the one that is late.
func TestSubsetOfLabels(t *testing.T) {
	b := open(t, Options{})
	now := time.Now().UnixMilli()
	more := labels.FromStrings("__name__", "a", "job", "test", "more", "x")
	put(t, b, storagetest.Sample{Labels: more, T: now - 1000, V: 1}, storagetest.Sample{Labels: named("a"), T: now, V: 2})
	put(t, b, storagetest.Sample{Labels: named("a"), T: now - 1000, V: 3})
	requireStored(t, b, named("a"), storagetest.Sample{T: now - 1000, V: 3}, storagetest.Sample{T: now, V: 2})
}

func TestRejectOutOfOrder(t *testing.T) {
	b := open(t, Options{})
	now := time.Now().UnixMilli()
	put(t, b, storagetest.Sample{Labels: named("a"), T: now, V: 2})
	x := begin(t, b)
	_, err := x.Append(0, named("a"), 0, now-1000, 1, nil, nil, promstorage.AppendV2Options{RejectOutOfOrder: true})
	requireRefused(t, "out_of_order", err)
	x.commit()
}

// TestManyWritersOfOneSeries has writers that share a series and its times.
// Whatever is not refused is stored, and nothing else.
func TestManyWritersOfOneSeries(t *testing.T) {
	b := open(t, Options{})
	const writers, rounds = 6, 50
	now := time.Now().UnixMilli()
	accepted := make(chan map[int64]float64, writers)
	for w := range writers {
		go func() {
			mine := map[int64]float64{}
			for r := range rounds {
				x := b.AppenderV2(t.Context())
				pending := map[int64]float64{}
				for _, ts := range []int64{now - int64((r*7+w)%rounds)*1000, now - int64((r*3+w*11)%rounds)*1000} {
					v := float64(w % 3)
					_, err := x.Append(0, named("a"), 0, ts, v, nil, nil, promstorage.AppendV2Options{})
					if err == nil {
						pending[ts] = v
					} else if _, ok := storage.RefusalReason(err); !ok {
						t.Errorf("Append: %v", err)
					}
				}
				if err := x.Commit(); err != nil {
					t.Errorf("Commit: %v", err)
				}
				for ts, v := range pending {
					mine[ts] = v
				}
			}
			accepted <- mine
		}()
	}
	want := map[int64]float64{}
	for range writers {
		for ts, v := range <-accepted {
			if have, ok := want[ts]; ok {
				require.Equal(t, have, v, "two values were accepted for %d", ts)
			}
			want[ts] = v
		}
	}
	got := map[int64]float64{}
	for _, s := range read(t, b, named("a")) {
		require.NotContains(t, got, s.T)
		got[s.T] = s.V
	}
	require.Equal(t, want, got)
}
