package local

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// fillDisk makes every further write of this process to open files under dir
// fail with "no space left on device".
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	found := false
	for _, fd := range fds {
		path, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err != nil || !strings.HasPrefix(path, dir+string(filepath.Separator)) {
			continue
		}
		n := 0
		for _, c := range fd.Name() {
			n = n*10 + int(c-'0')
		}
		require.NoError(t, syscall.Dup3(int(full.Fd()), n, syscall.O_CLOEXEC))
		found = true
	}
	require.True(t, found, "no open file under %s", dir)
}

// TestFullDisk has a log that takes no more data in the middle of a run, once
// for the log of all samples and once for that of the late ones.
func TestFullDisk(t *testing.T) {
	for _, log := range []string{"wal", "wbl"} {
		t.Run(log, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			states := make(chan error, 4)
			b := open(t, Options{
				Registerer: reg,
				onState:    func(broken error) { states <- broken },
				backoff:    time.Millisecond,
			})
			now := time.Now().UnixMilli()
			stored := []storagetest.Sample{{Labels: named("a"), T: now - 1000, V: 1}, {Labels: named("a"), T: now, V: 3}}
			put(t, b, stored...)
			x := begin(t, b)
			ref, err := x.Append(0, named("a"), 0, now+1000, 4, nil, nil, appendOptions)
			require.NoError(t, err)
			x.commit()
			stored = append(stored, storagetest.Sample{Labels: named("a"), T: now + 1000, V: 4})

			open := begin(t, b)
			open.add(storagetest.Sample{Labels: named("a"), T: now + 2000, V: 5})

			lost := storagetest.Sample{Labels: named("a"), T: now - 500, V: 2}
			fails := begin(t, b)
			fails.add(lost)
			newRef, err := fails.Append(0, named("new"), 0, now, 1, nil, nil, appendOptions)
			require.NoError(t, err)
			fillDisk(t, filepath.Join(b.opts.Dir, log))
			requireUnavailable(t, fails.Commit())
			require.Error(t, <-states)
			requireUnavailable(t, b.Ready())

			// A transaction that was open may not be acknowledged either: its
			// samples would come after the gap in the log.
			requireUnavailable(t, open.Commit())

			// The store opens itself again.
			require.NoError(t, <-states)
			require.NoError(t, b.Ready())
			if log == "wal" {
				requireStored(t, b, named("new"))
			}
			require.Contains(t, storagetest.Text(read(t, b, named("a"))), storagetest.Text(stored[:1]))
			require.Equal(t, 1.0, testutil.ToFloat64(b.metrics.reopenings))

			// The retry of everything is stored, under refs that are new: the old
			// opening's may belong to other series now.
			x = begin(t, b)
			x.add(lost)
			x.add(storagetest.Sample{Labels: named("a"), T: now + 2000, V: 5})
			x.add(storagetest.Sample{Labels: named("other"), T: now, V: 9})
			got, err := x.Append(newRef, named("new"), 0, now, 1, nil, nil, appendOptions)
			require.NoError(t, err)
			require.NotEqual(t, newRef, got)
			got, err = x.Append(ref, named("a"), 0, now+3000, 6, nil, nil, appendOptions)
			require.NoError(t, err)
			require.NotEqual(t, ref, got)
			x.commit()
			want := []storagetest.Sample{stored[0], lost, stored[1], stored[2], {T: now + 2000, V: 5}, {T: now + 3000, V: 6}}
			requireStored(t, b, named("a"), want...)
			requireStored(t, b, named("new"), storagetest.Sample{T: now, V: 1})

			_, err = reg.Gather()
			require.NoError(t, err)
		})
	}
}

// TestCloseWhileTheDiskIsFull: Close does not wait for the disk.
func TestCloseWhileTheDiskIsFull(t *testing.T) {
	states := make(chan error, 1)
	b := open(t, Options{onState: func(broken error) { states <- broken }, backoff: time.Hour})
	now := time.Now().UnixMilli()
	put(t, b, storagetest.Sample{Labels: named("a"), T: now, V: 1})
	fillDisk(t, filepath.Join(b.opts.Dir, "wal"))
	x := begin(t, b)
	x.add(storagetest.Sample{Labels: named("a"), T: now + 1, V: 1})
	requireUnavailable(t, x.Commit())
	require.Error(t, <-states)
	require.NoError(t, b.Close(t.Context()))
}

func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	var e *storage.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, storage.KindUnavailable, e.Kind)
}
