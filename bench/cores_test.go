package bench

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// oneCore runs the rest of b, a benchmark with b.Loop, on one processor,
// whatever -cpu says, and only once if -cpu lists several.
func oneCore(b *testing.B) {
	b.Helper()
	once(b)
	onCores(b, 1)
}

// onCores runs the rest of b on n processors. Benchmarks with b.Loop cannot
// rely on -cpu: with Go 1.26 their first run, which is the one that counts, has
// as many processors as whatever ran before left behind.
func onCores(b *testing.B, n int) {
	before := runtime.GOMAXPROCS(n)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// measured counts, by the name of a benchmark, how often once let it run.
var measured = map[string]int{}

// once skips the runs of b, a benchmark with b.Loop, for the second and later
// of -cpu.
func once(b *testing.B) {
	b.Helper()
	count, err := strconv.Atoi(flag.Lookup("test.count").Value.String())
	if err != nil {
		b.Fatal(err)
	}
	if measured[b.Name()] == count {
		b.SkipNow()
	}
	measured[b.Name()]++
}
