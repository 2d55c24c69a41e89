// Paired compares the benchmarks of two builds, or of two configurations of one
// build, in pairs, and says whether the difference is there.
//
// Two builds, the revision and the working tree:
//
//	go run ./bench/paired -base HEAD~1 -bench 'Handler/./otlpgw' -require 'ns/op<=-5%'
//
// Two configurations of the working tree, by a pair of braces in the names of
// the benchmarks, or by environment:
//
//	go run ./bench/paired -bench 'Reference/serial/{built,pooled}'
//	go run ./bench/paired -bench 'Handler/sdk/otlpgw' -candidate-env GOGC=400
//
// How it is done, and what can be trusted, is said in package trial. The exit
// code is 0 for PASSED, 1 for FAILED, 3 for NOT RESOLVED, and 2 if nothing
// could be compared.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/otlpgw/otlpgw/bench/paired/build"
	"github.com/otlpgw/otlpgw/bench/paired/trial"
	"github.com/otlpgw/otlpgw/bench/paired/verdict"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// prometheus is the control group between two builds: Prometheus's own handler,
// which no change of ours reaches.
const prometheus = "^BenchmarkHandler$/./^prometheus$"

// config is what the flags say.
type config struct {
	trial.Options
	base, pkg, json string
}

func parse(args []string, stderr io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("paired", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.base, "base", "", "`revision` to compare the working tree with; empty: the working tree with itself")
	f.StringVar(&c.pkg, "pkg", "./bench", "`package` of the benchmarks")
	f.StringVar(&c.Bench, "bench", "^BenchmarkHandler$/./^otlpgw$", "benchmarks to compare, as for go test; {a,b} names the baseline's and the candidate's")
	f.StringVar(&c.Control, "control", "", "benchmarks that the change cannot reach, or none (default between two builds: "+prometheus+")")
	f.IntVar(&c.Pairs, "pairs", 10, "`number` of pairs; under 6 nothing can be said with 95 %")
	f.StringVar(&c.Benchtime, "benchtime", "1s", "time or iterations (100x) of each sample")
	f.IntVar(&c.Procs, "cpu", 1, "GOMAXPROCS")
	f.Float64Var(&c.MaxRegression, "max-regression", 3, "what is asked of a metric without -require: not to get worse by more than this many `percent`")
	f.Float64Var(&c.ControlTolerance, "control-tolerance", 1, "`percent` by which the range of a control's change may miss zero")
	f.Float64Var(&c.Confidence, "confidence", 95, "confidence of the ranges, in `percent`")
	f.Uint64Var(&c.Seed, "seed", 0, "of the order of the pairs; 0 is by chance")
	f.StringVar(&c.json, "json", "", "`file` to write the result to as JSON, with all samples")
	f.Func("require", "`requirement` such as ns/op<=-5% or allocs/op<=-5; can be given again", func(s string) error {
		r, err := verdict.Parse(s)
		c.Requirements = append(c.Requirements, r)
		return err
	})
	env := func(name, whose string, side *trial.Side) {
		f.Func(name, "`KEY=value` in the environment of the "+whose+"; can be given again", func(s string) error {
			if strings.IndexByte(s, '=') < 1 {
				return errors.New("not of the form KEY=value")
			}
			side.Env = append(side.Env, s)
			return nil
		})
	}
	env("baseline-env", "baseline", &c.Baseline)
	env("candidate-env", "candidate", &c.Candidate)
	if err := f.Parse(args); err != nil {
		return c, err
	}
	err := c.check(f)
	if err != nil {
		fmt.Fprintln(stderr, "paired:", err)
	}
	return c, err
}

func (c *config) check(f *flag.FlagSet) error {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("%q is no flag", f.Arg(0))
	case given["base"] && c.base == "":
		return errors.New("-base is empty: name the revision to compare with")
	case c.Pairs < 1, c.Procs < 1:
		return errors.New("-pairs and -cpu count from 1")
	case c.MaxRegression <= 0, c.ControlTolerance <= 0:
		return errors.New("-max-regression and -control-tolerance are more than 0 %")
	case c.Confidence <= 0 || c.Confidence >= 100:
		return errors.New("-confidence lies between 0 and 100 %")
	}
	c.MaxRegression /= 100
	c.ControlTolerance /= 100
	c.Confidence /= 100
	if c.Control == "" && c.base != "" {
		c.Control = prometheus
	}
	if c.Control == "none" {
		c.Control = ""
	}
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	c.Progress = stderr
	result, err := c.compare(ctx)
	if err == nil {
		err = c.write(result, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "paired:", err)
		return 2
	}
	switch result.Verdict {
	case verdict.Passed:
		return 0
	case verdict.Failed:
		return 1
	default:
		return 3
	}
}

func (c *config) compare(ctx context.Context) (*trial.Result, error) {
	dir, err := os.MkdirTemp("", "paired-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // What is left is in the directory for what may be left.

	fmt.Fprintln(c.Progress, "building the working tree")
	tree, err := build.Tree(ctx, ".", c.pkg, dir)
	if err != nil {
		return nil, err
	}
	old := tree
	if c.base != "" {
		fmt.Fprintln(c.Progress, "building", c.base)
		if old, err = build.Revision(ctx, ".", c.base, c.pkg, dir); err != nil {
			return nil, err
		}
	}
	side := func(s *trial.Side, b build.Binary) {
		s.Label, s.Binary, s.Dir = b.Commit, b.Path, b.Dir
	}
	side(&c.Baseline, old)
	side(&c.Candidate, tree)
	return trial.Run(ctx, c.Options)
}

func (c *config) write(r *trial.Result, stdout io.Writer) error {
	if c.json != "" {
		b, err := json.MarshalIndent(r, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.json, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return r.WriteText(stdout)
}
