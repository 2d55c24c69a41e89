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

// groups are the steps that run benchmarks of this module: each can fail, and
// be run again, by itself. Every benchmark that is in none is in the last.
var groups = []struct {
	name, title string
	benchmarks  []string
	cpu         string
}{
	{"warm", "Warm requests", []string{"Ratio", "RatioConvert", "Convert"}, "1"},
	{"cold", "New series", []string{"Cold", "Churn"}, "1"},
	{"growth", "Many cached series", []string{"Growth"}, "1"},
	{"memory", "Memory", []string{"Memory"}, "1"},
	{"processors", "On one processor and on several", []string{"Handler", "Shared", "Scaling"}, "1,2,4"},
	{"end-to-end", "End to end", []string{"EndToEnd"}, "1"},
	{"stages", "Stages", nil, "1"},
}

// match matches benchmarks of the given names.
func match(names []string) string {
	return "^Benchmark(" + strings.Join(names, "|") + ")$"
}

// bench are the commands of the groups.
func (p plan) bench(common []string) []planned {
	var steps []planned
	done := []string{"Reference"} // by paired runs
	for _, g := range groups {
		// What a quick run leaves out takes long to set up, however short it is run.
		if p.quick && g.name == "memory" {
			done = append(done, g.benchmarks...)
			continue
		}
		args := []string{"go", "test", "./bench", "-run", "^$", "-bench", match(g.benchmarks)}
		switch {
		case g.benchmarks == nil:
			args = append(args[:len(args)-1], ".", "-skip", match(done))
		case p.quick && g.name == "growth":
			args = append(args, "-skip", "/1000000")
		}
		done = append(done, g.benchmarks...)
		steps = append(steps, planned{
			step: step{Name: g.name, Title: g.title},
			args: slices.Concat(args, []string{"-cpu", g.cpu}, common), needs: "bench",
		})
	}
	return steps
}

func (p plan) steps() []planned {
	common := []string{"-count", fmt.Sprint(p.count), "-benchtime", p.benchtime, "-timeout", "0"}
	paired := func(args ...string) []string {
		return slices.Concat([]string{"go", "run", "./bench/paired", "-pairs", fmt.Sprint(p.pairs), "-benchtime", p.benchtime}, args)
	}
	const control = "^BenchmarkHandler$/^small$/^prometheus$"
	less := []string{"-require", "ns/op<0%", "-require", "B/op<0%", "-require", "allocs/op<0"}
	steps := append(p.bench(common),
		planned{
			step:  step{Name: "peers", Title: "Beside other projects"},
			args:  slices.Concat([]string{"go", "test", "-C", "bench/peers", "-run", "^$", "-bench", ".", "-cpu", "1"}, common),
			needs: "bench/peers",
		},
		planned{
			step: step{Name: referenceSerial, Title: "Paired run: the reference experiment, serial"},
			args: paired(append([]string{"-cpu", "1", "-bench", p.serial, "-control", control}, less...)...), paired: true,
		},
		planned{
			step: step{Name: referenceParallel, Title: "Paired run: the reference experiment, parallel"},
			args: paired(append([]string{"-cpu", "4", "-bench", p.parallel, "-control", control}, less...)...), paired: true,
		},
		planned{
			// Both sides are one revision, so that what is claimed is not there.
			step: step{Name: noOp, Title: "Paired run: a change that changes nothing, said to be 1 % faster"},
			args: paired("-base", "HEAD", "-bench", "^BenchmarkHandler$/^sdk$/^otlpgw$", "-require", "ns/op<=-1%"), paired: true,
		},
	)
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
