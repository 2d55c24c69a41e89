package main

import (
	"fmt"
	"slices"
	"strings"
)

// plan is what a report is made of. Each step is one command, run in the root
// of the repository.
type plan struct {
	count     int
	benchtime string
	pairs     int
	// serial and parallel name the two configurations of the reference
	// experiment.
	serial, parallel string
	quick            bool
}

// planned is a step that is to be run.
type planned struct {
	step
	args []string
	// needs is a directory without which the step is left out.
	needs string
	// paired says that the step is a paired run, which writes its result itself
	// and ends with a code that is no failure of the run.
	paired bool
}

// several are the benchmarks that -cpu is for. Those that choose their own
// number of processors run with the others.
const several = "^(BenchmarkHandler|BenchmarkShared)$"

func (p plan) steps() []planned {
	// What a quick run leaves out takes long to set up, however short it is run.
	skip := several + "|^BenchmarkReference$"
	if p.quick {
		skip += "|^BenchmarkGrowth$/1000000|^BenchmarkMemory$"
	}
	common := []string{"-count", fmt.Sprint(p.count), "-benchtime", p.benchtime, "-timeout", "0"}
	test := func(args ...string) []string {
		return slices.Concat([]string{"go", "test"}, args, common)
	}
	paired := func(args ...string) []string {
		return slices.Concat([]string{"go", "run", "./bench/paired", "-pairs", fmt.Sprint(p.pairs), "-benchtime", p.benchtime}, args)
	}
	const control = "^BenchmarkHandler$/^small$/^prometheus$"
	less := []string{"-require", "ns/op<0%", "-require", "B/op<0%", "-require", "allocs/op<0"}
	steps := []planned{
		{
			step: step{Name: "bench", Title: "This handler and its stages"},
			args: test("./bench", "-run", "^$", "-bench", ".", "-skip", skip, "-cpu", "1"), needs: "bench",
		},
		{
			step: step{Name: "scaling", Title: "On one processor and on several"},
			args: test("./bench", "-run", "^$", "-bench", several, "-cpu", "1,2,4"), needs: "bench",
		},
		{
			step: step{Name: "peers", Title: "Beside other projects"},
			args: test("-C", "bench/peers", "-run", "^$", "-bench", ".", "-cpu", "1"), needs: "bench/peers",
		},
		{
			step: step{Name: referenceSerial, Title: "Paired run: the reference experiment, serial"},
			args: paired(append([]string{"-cpu", "1", "-bench", p.serial, "-control", control}, less...)...), paired: true,
		},
		{
			step: step{Name: referenceParallel, Title: "Paired run: the reference experiment, parallel"},
			args: paired(append([]string{"-cpu", "4", "-bench", p.parallel, "-control", control}, less...)...), paired: true,
		},
		{
			// Both sides are one revision, so that what is claimed is not there.
			step: step{Name: noOp, Title: "Paired run: a change that changes nothing, said to be 1 % faster"},
			args: paired("-base", "HEAD", "-bench", "^BenchmarkHandler$/^sdk$/^otlpgw$", "-require", "ns/op<=-1%"), paired: true,
		},
	}
	for i := range steps {
		steps[i].Command = shell(steps[i].args)
	}
	return steps
}

// shell writes a command as one types it.
func shell(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if strings.ContainsAny(a, "^$|<>*?(){}[]&;# %\"\\") || a == "" {
			a = "'" + a + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}
