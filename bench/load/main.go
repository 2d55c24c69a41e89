// Load drives real processes end to end and prints what each of them costs per
// delivered sample: otlpgw, the floor (bench/load/relay, a relay that reads
// each body unseen and posts one ready-made remote-write body), and with -peers
// vmagent, the agent of Prometheus and the OpenTelemetry Collector, built from
// the modules under bench/peers/program.
//
// From the root of the repository, on Linux:
//
//	go run ./bench/load
//	go run ./bench/load -peers -o bench/results/load.md
//	go run ./bench/load -only 'otlpgw RW 2.0' -requests 30000 -profile cpu.pprof
//
// The load is 100 targets of 800 series, 50 classic histograms each, sent by 8
// senders as fast as they are answered, or at a -rate; a target belongs to one
// sender. The two ask different things: a process that has always something to
// do is woken less often per request, which makes the floor a third or less of
// what it is for requests that come one by one, and the ratios to it larger.
// Rounds of all targets come first until one arrives whole. The far end is this
// process: it inflates and counts every remote-write request, so that delivered
// is what arrived, and answers at once. A sample is one of the load: those of
// target_info are delivered beside them and not counted.
//
// Processor time is utime and stime of the process from the first measured
// request to the last sample's arrival; peak memory is VmHWM, warm-up included;
// p50 and p99 are of OTLP requests as the senders saw them. Senders, far end
// and process share the machine. Each run starts every process anew, in turn;
// printed are medians over the runs, of ratios too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/otlpgw/otlpgw/bench/paired/machine"
)

// options are those of the command line.
type options struct {
	plan
	runs, singles int
	peers         bool
	only, out     string
	// root is that of the repository, bin where programs are built.
	root, bin string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{root: "."}
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.targets, "targets", 100, "`number` of targets, each of 800 series")
	f.IntVar(&o.senders, "senders", 8, "`number` of senders")
	f.IntVar(&o.rate, "rate", 0, "OTLP requests in a `second`; 0 is as many as are answered")
	f.IntVar(&o.requests, "requests", 3000, "`number` of measured OTLP requests")
	f.IntVar(&o.singles, "singles", 300, "`number` of small requests that are sent one at a time; 0 leaves that out")
	f.IntVar(&o.runs, "runs", 3, "`number` of runs of each process")
	f.BoolVar(&o.peers, "peers", false, "measure the peers too; their first build takes minutes")
	f.StringVar(&o.only, "only", "", "`names` of the rows to measure, separated by semicolons; the relay is measured always")
	f.StringVar(&o.profile, "profile", "", "`file` for a CPU profile of the first otlpgw, over 5 s")
	f.StringVar(&o.bin, "bin", "bin/load", "`directory` that programs are built to")
	f.StringVar(&o.out, "o", "", "`file` for the tables, beside the standard output")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.targets < 1 || o.senders < 1 || o.requests < 1 || o.runs < 1 || o.rate < 0 || f.NArg() > 0 {
		return errors.New("targets, senders, requests and runs are at least 1, rate is not negative, and nothing follows the flags")
	}
	rows, err := o.measure(ctx, stderr)
	if err != nil {
		return err
	}
	page := o.page(ctx, rows, args)
	fmt.Fprint(stdout, page)
	if o.out == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(o.out, []byte(page), 0o600)
}

// parties are those to measure, the floor first.
func (o options) parties() []party {
	all := slices.Clone(ours)
	if o.peers {
		all = append(all, peers...)
	}
	if o.only == "" {
		return all
	}
	names := strings.Split(o.only, ";")
	return slices.DeleteFunc(all, func(p party) bool { return p.name != ours[0].name && !slices.Contains(names, p.name) })
}

// measure runs every party runs times, in turn. A peer that cannot be built or
// run is left out and says why; one of ours ends it all.
func (o options) measure(ctx context.Context, progress io.Writer) ([]row, error) {
	rows, paths := []row{}, map[string]string{}
	for _, p := range o.parties() {
		r := row{party: p}
		if paths[p.program] == "" {
			fmt.Fprintln(progress, "build", p.program)
			var err error
			if paths[p.program], err = build(ctx, o.root, o.bin, p.program); err != nil && !p.async {
				return nil, err
			}
			r.missing = err
		}
		rows = append(rows, r)
	}
	for run := range o.runs {
		for i := range rows {
			r := &rows[i]
			if r.missing != nil {
				continue
			}
			if err := o.trial(ctx, r, paths[r.program], progress); err != nil && (!r.async || ctx.Err() != nil) {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			} else if err != nil {
				fmt.Fprintf(progress, "%s: %v\n", r.name, err)
				r.missing = err
				continue
			}
			if r.program == "otlpgw" {
				o.profile = "" // One is enough.
			}
			last := r.results[run]
			fmt.Fprintf(progress, "run %d: %s: %.3f µs/sample, peak RSS %d MB, p99 %v\n", run+1, r.name, last.perSample(), last.peakRSS/1e6, last.p99)
		}
	}
	return rows, nil
}

// trial adds one run to r.
func (o options) trial(ctx context.Context, r *row, program string, progress io.Writer) error {
	p := o.plan
	if r.program != "otlpgw" {
		p.profile = ""
	}
	b, err := lay(ctx, r.party, program)
	if err != nil {
		return err
	}
	res, err := b.measure(ctx, p)
	b.close()
	if err != nil {
		return err
	}
	if !r.async && res.delivered != res.sent {
		return fmt.Errorf("%d of %d acknowledged samples arrived", res.delivered, res.sent)
	}
	r.results = append(r.results, &res)
	if r.async || o.singles == 0 {
		return nil // Its answer says nothing about the far end.
	}
	var s []single
	for _, delay := range farDelays {
		b, err := lay(ctx, r.party, program)
		if err != nil {
			return err
		}
		one, err := b.single(ctx, delay, o.singles)
		b.close()
		if err != nil {
			return err
		}
		fmt.Fprintf(progress, "%s: far end waits %v: p50 %v, its own %v\n", r.name, delay, one.p50, one.far)
		s = append(s, one)
	}
	r.singles = append(r.singles, s)
	return nil
}

// page is the report, in Markdown.
func (o options) page(ctx context.Context, rows []row, args []string) string {
	commit, err := exec.CommandContext(ctx, "git", "-C", o.root, "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	var t strings.Builder
	t.WriteString("# End to end\n\n")
	pace := "each sends its next once the one before is answered"
	if o.rate > 0 {
		pace = fmt.Sprintf("%d requests a second in all", o.rate)
	}
	fmt.Fprintf(&t, "%d targets, %d series, %d OTLP requests of %d samples (classic histograms) from %d senders, %s; medians of %d runs.\n\n",
		o.targets, o.targets*samplesPerRequest, o.requests, samplesPerRequest, o.senders, pace, o.runs)
	fmt.Fprintf(&t, "- machine: %s\n- commit: %s\n- command: `go run ./bench/load %s`\n\n", machine.Here(), strings.TrimSpace(string(commit)), strings.Join(args, " "))
	t.WriteString(loadTable(rows))
	t.WriteString("\n`*` answers before the far end has: its p50 and p99 say nothing about delivery.\n")
	if m := missing(rows); m != "" {
		t.WriteString("\n" + m)
	}
	if o.singles > 0 {
		fmt.Fprintf(&t, "\n## One small request at a time\n\n%d requests of %d samples from one sender.\n\n%s", o.singles, smallPoints, singleTable(rows))
	}
	return t.String()
}
