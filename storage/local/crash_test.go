package local

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

var quiet = slog.New(slog.DiscardHandler)

// childVariable makes this test binary the process that is killed.
const childVariable = "OTLPGW_LOCAL_TEST_CHILD_DIR"

func childDir() string { return os.Getenv(childVariable) }

// crashSample is the nth sample of the child: floats and histograms, of new
// and known series, in order and late.
func crashSample(base int64, n int) storagetest.Sample {
	s := storagetest.Sample{
		Labels: labels.FromStrings("__name__", "crash", "kind", fmt.Sprint(n%4), "series", fmt.Sprint(n/40)),
		T:      base + int64(n)*10,
		V:      float64(n),
	}
	if n%4 >= 2 {
		s.H = intHistogram(int64(n + 1))
		s.V = 0
	}
	if n%12 < 4 {
		s.T -= 60_000 // Late, unless it is the series' first.
	}
	return s
}

// runChild commits until it is killed, and prints a line per commit that was
// acknowledged.
func runChild(dir string) {
	b, err := Open(Options{Dir: dir, Logger: quiet})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	base := time.Now().UnixMilli()
	fmt.Println("base", base)
	for n := 0; ; n++ {
		app := b.AppenderV2(context.Background())
		s := crashSample(base, n)
		if _, err := app.Append(0, s.Labels, 0, s.T, s.V, s.H, nil, promstorage.AppendV2Options{}); err != nil {
			fmt.Println("append:", err)
			return
		}
		if err := app.Commit(); err != nil {
			fmt.Println("commit:", err)
			return
		}
		fmt.Println("acknowledged", n)
	}
}

// TestKillLosesNothing kills a process that commits, and looks for every
// sample that it acknowledged. It says nothing about power loss.
func TestKillLosesNothing(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	const kill = 2000
	var base int64
	last := -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "base "):
			_, err = fmt.Sscan(line[len("base "):], &base)
		case strings.HasPrefix(line, "acknowledged "):
			_, err = fmt.Sscan(line[len("acknowledged "):], &last)
		default:
			t.Fatal(line)
		}
		require.NoError(t, err)
		if last == kill {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	require.GreaterOrEqual(t, last, kill)

	b := open(t, Options{Dir: dir})
	have := map[string]string{}
	for n := 0; n <= last; n++ {
		s := crashSample(base, n)
		key := s.Labels.String()
		if _, ok := have[key]; !ok {
			have[key] = storagetest.Text(read(t, b, s.Labels))
		}
		require.Contains(t, have[key], storagetest.Text([]storagetest.Sample{s}), "acknowledged sample %d", n)
	}
}
