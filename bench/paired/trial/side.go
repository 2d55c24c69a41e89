package trial

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/otlpgw/otlpgw/bench/paired/gobench"
)

// Side is one of the two things that are compared: a build in a configuration.
type Side struct {
	// Label says what it is: a commit, "working tree".
	Label string `json:"label"`
	// Binary is the path of a test binary, and Dir the directory to run it in.
	Binary string `json:"-"`
	Dir    string `json:"-"`
	// Env is added to the environment: KEY=value.
	Env []string `json:"env,omitempty"`
}

// process is what one run of a side printed and used.
type process struct {
	results []gobench.Result
	cpu     time.Duration // user and system time of the whole process
}

// run runs the benchmarks that match, in one process.
func (s Side) run(ctx context.Context, bench, benchtime string, procs int) (process, error) {
	cmd := exec.CommandContext(ctx, s.Binary, "-test.run=^$", "-test.bench="+bench, "-test.benchtime="+benchtime,
		"-test.cpu="+strconv.Itoa(procs), "-test.benchmem", "-test.count=1", "-test.timeout=0")
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), s.Env...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return process{}, fmt.Errorf("%s: benchmarks %s: %w\n%s", s.Label, bench, err, tail(out.String()+stderr.String()))
	}
	results, err := gobench.Parse(&out)
	if err != nil {
		return process{}, fmt.Errorf("%s: benchmarks %s: %w", s.Label, bench, err)
	}
	for i, r := range results {
		// The number of processors is known here, so names that look as if they
		// ended in another one are whole again.
		if r.Procs != procs {
			results[i].Name += "-" + strconv.Itoa(r.Procs)
			results[i].Procs = procs
		}
	}
	return process{results, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// tail is the end of a long output.
func tail(s string) string {
	const most = 4 << 10
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return strings.TrimSpace(s)
}

// exactly matches one benchmark of the given name, and no other.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// variation is a pair of braces in the expression that chooses benchmarks:
// Reference/serial/{built,pooled} compares .../built with .../pooled.
type variation struct {
	element      int // which part of the name varies
	alternatives [2]string
}

var braces = regexp.MustCompile(`\{([^{},/]*[^{},/0-9][^{},/]*),([^{},/]+)\}`)

// vary takes an expression apart into those of the two sides. Without braces
// they are the same, and so are the names.
func vary(bench string) (baseline, candidate string, v *variation, err error) {
	all := braces.FindAllStringSubmatchIndex(bench, -1)
	switch len(all) {
	case 0:
		return bench, bench, nil, nil
	case 1:
	default:
		return "", "", nil, fmt.Errorf("%q varies in more than one place: two configurations differ in one", bench)
	}
	at := all[0]
	v = &variation{alternatives: [2]string{bench[at[2]:at[3]], bench[at[4]:at[5]]}}
	depth := 0
	for _, r := range bench[:at[0]] {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '/':
			if depth == 0 {
				v.element++
			}
		}
	}
	fill := func(s string) string { return bench[:at[0]] + regexp.QuoteMeta(s) + bench[at[1]:] }
	return fill(v.alternatives[0]), fill(v.alternatives[1]), v, nil
}

// common is the name under which a benchmark of a side (0 the baseline, 1 the
// candidate) is compared with its counterpart. It is false for one that does
// not hold the alternative.
func (v *variation) common(name string, side int) (string, bool) {
	if v == nil {
		return name, true
	}
	parts := strings.Split(name, "/")
	if v.element >= len(parts) || !strings.Contains(parts[v.element], v.alternatives[side]) {
		return name, false
	}
	both := "{" + v.alternatives[0] + "," + v.alternatives[1] + "}"
	parts[v.element] = strings.Replace(parts[v.element], v.alternatives[side], both, 1)
	return strings.Join(parts, "/"), true
}
