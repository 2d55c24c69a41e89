// Report runs the benchmarks and writes bench/results/<date>-<commit>: tables in
// Markdown, charts, and the outputs that they were made from.
//
//	go run ./bench/report            # as make bench-report
//	go run ./bench/report -quick     # whether it works; no evidence
//	go run ./bench/report -dir bench/results/2026-12-01-0123456789ab -steps peers
//	go run ./bench/report -dir bench/results/2026-12-01-0123456789ab -steps none
//
// The third runs one step anew, the fourth only writes the pages anew. All takes
// about 25 minutes on two cores, and quick three; a run that stops says how to
// go on. Nothing else should run beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/otlpgw/otlpgw/bench/paired/build"
	"github.com/otlpgw/otlpgw/bench/paired/machine"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	p := plan{}
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&p.quick, "quick", false, "run everything once and briefly, and leave out what takes long to set up")
	f.IntVar(&p.count, "count", 5, "runs of each benchmark")
	f.StringVar(&p.benchtime, "benchtime", "1s", "time of each run")
	f.IntVar(&p.pairs, "pairs", 10, "`number` of pairs of the paired runs")
	f.StringVar(&p.serial, "reference-serial", "^BenchmarkReference$/^serial$/^{built,pooled}$", "the reference experiment, serial: {baseline,candidate}")
	f.StringVar(&p.parallel, "reference-parallel", "^BenchmarkReference$/^parallel$/^{built,pooled}$", "the same, parallel")
	dir := f.String("dir", "", "`directory` to write to (default bench/results/<date>-<commit>)")
	names := f.String("steps", "", "`names` of the steps to run, with commas, or none (default all)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%q is no flag", f.Arg(0))
	}
	if p.quick {
		p.count, p.benchtime, p.pairs = 1, "50ms", 6
	}
	steps, err := choose(p.steps(), *names)
	if err != nil {
		return err
	}
	return collect(ctx, steps, *dir, p.quick, stderr)
}

// choose keeps the steps with the given names.
func choose(steps []planned, names string) ([]planned, error) {
	switch names {
	case "":
		return steps, nil
	case "none":
		return nil, nil
	}
	var chosen []planned
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(steps, func(s planned) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no step is named %q", name)
		}
		chosen = append(chosen, steps[i])
	}
	return chosen, nil
}

// collect runs the steps and writes the report. A directory that holds one
// already keeps what is not run anew. What was run before a step failed is kept
// in any case.
func collect(ctx context.Context, steps []planned, dir string, quick bool, stderr io.Writer) error {
	commit, err := build.Commit(ctx, ".")
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	if dir == "" {
		dir = filepath.Join("bench", "results", now.Format("2006-01-02")+"-"+commit)
	}
	r, err := open(dir)
	if err != nil {
		return err
	}
	if len(r.Steps) == 0 || len(steps) > 0 {
		if len(r.Steps) > 0 && (r.Commit != commit || r.Quick != quick) {
			return fmt.Errorf("%s holds a report of commit %s, quick %t: a step of commit %s, quick %t, does not belong there",
				dir, r.Commit, r.Quick, commit, quick)
		}
		r.Date, r.Commit, r.Quick, r.Machine = now, commit, quick, machine.Here()
		if r.Docs, err = docs("bench", filepath.Join("bench", "peers")); err != nil {
			return err
		}
	}
	for i, s := range steps {
		if s.needs != "" {
			if _, err := os.Stat(s.needs); errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(stderr, "report: %s is left out: there is no %s\n", s.Name, s.needs)
				continue
			}
		}
		done, err := s.run(ctx, dir, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w (what was run before is in %s; -dir %s -steps %s goes on)", s.Name, err, dir, dir, left(steps[i:]))
		}
		r.put(done)
		if err := r.save(dir); err != nil {
			return err
		}
		if err := r.write(dir); err != nil {
			return err
		}
	}
	if len(steps) == 0 {
		if err := r.write(dir); err != nil {
			return err
		}
	}
	fmt.Fprintln(stderr, "report:", filepath.Join(dir, pageFile))
	return nil
}

// left names the steps that are left.
func left(steps []planned) string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, ",")
}

// open loads the record of a directory, which is made if need be.
func open(dir string) (*record, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	r, err := load(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	return r, err
}

// put adds a step, or replaces the one with its name.
func (r *record) put(s step) {
	if old := r.step(s.Name); old != nil {
		*old = s
		return
	}
	r.Steps = append(r.Steps, s)
}

// run runs the command, with its output before the eyes of whoever waits and in
// the file of the step, which replaces an older one only if all went well.
func (s planned) run(ctx context.Context, dir string, stderr io.Writer) (step, error) {
	fmt.Fprintf(stderr, "report: %s\n", s.Command)
	part, err := os.MkdirTemp(dir, "part-")
	if err != nil {
		return step{}, err
	}
	defer func() { _ = os.RemoveAll(part) }() // What was whole has been moved.
	f, err := os.Create(filepath.Join(part, s.Name+".txt"))
	if err != nil {
		return step{}, err
	}
	args := s.args
	result := filepath.Join(part, s.Name+".json")
	if s.paired {
		args = append(slices.Clone(args), "-json", result)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(f, stderr), stderr
	started := time.Now()
	err = errors.Join(cmd.Run(), f.Close())
	done := s.step
	done.Seconds = time.Since(started).Round(100 * time.Millisecond).Seconds()
	if _, missing := os.Stat(result); s.paired && missing == nil {
		err = nil // A verdict other than PASSED is a result, too.
	}
	if err == nil {
		err = done.load(part)
	}
	if err != nil {
		return done, err
	}
	return done, move(part, dir)
}

// move moves the files of a directory into another.
func move(from, to string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
	}
	return err
}
