// Package gobench reads what go test -bench prints. The format is described in
// https://go.dev/design/14313-benchmark-format: configuration as "key: value",
// and a line per benchmark of name, iterations, and pairs of value and unit.
package gobench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Value is one number of a result, such as 1234 ns/op.
type Value struct {
	Unit  string
	Value float64
}

// Result is one line of one benchmark. A benchmark that ran with -count=5 has
// five of them.
type Result struct {
	// Name is the benchmark's with all its parts, without the number of
	// processors: "BenchmarkHandler/sdk/otlpgw".
	Name string
	// Procs is GOMAXPROCS during the run. The format cannot tell a name that
	// ends in "-4" on one processor from a name on four; it is read as four.
	Procs int
	// Iterations is how often the body ran for this line.
	Iterations int
	// Package is the import path that the line stands under, if it was printed.
	Package string
	// Values are in the order in which they were printed, one per unit.
	Values []Value
}

// Get returns the value with the given unit.
func (r Result) Get(unit string) (float64, bool) {
	for _, v := range r.Values {
		if v.Unit == unit {
			return v.Value, true
		}
	}
	return 0, false
}

// Parse reads everything that r holds. A benchmark that failed or panicked, or
// a result that cannot be read, is an error: half a run must not look like a
// whole one. The results before it are returned with the error. Lines that are
// no results, such as logs, are passed over, and so are benchmarks that did not
// run: a skip within one is printed as 0 iterations of NaN.
func Parse(r io.Reader) ([]Result, error) {
	var (
		results []Result
		pkg     string
		name    string // A benchmark that has logged: its numbers come on a later line.
	)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if fault(line) {
			return results, fmt.Errorf("line %d: the benchmarks failed: %s", n, line)
		}
		if p, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg, name = strings.TrimSpace(p), ""
			continue
		}
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		named := isName(fields[0])
		if named {
			name, fields = fields[0], fields[1:]
		} else if name == "" || line[0] != ' ' && line[0] != '\t' {
			continue
		}
		if len(fields) < 3 {
			continue // Only the name, as with -v or before a log.
		}
		iterations, err := strconv.Atoi(fields[0])
		if err != nil {
			continue // The rest is a log.
		}
		if iterations == 0 {
			name = "" // It was skipped after some parts: there is nothing to tell.
			continue
		}
		result := Result{Iterations: iterations, Package: pkg}
		result.Name, result.Procs = splitProcs(name)
		if result.Values, err = values(fields[1:]); err != nil {
			if !named {
				continue // A log that begins with a number.
			}
			return results, fmt.Errorf("line %d: %s: %w", n, result.Name, err)
		}
		name = ""
		results = append(results, result)
	}
	return results, lines.Err()
}

// fault reports whether a line says that something went wrong.
func fault(line string) bool {
	s := strings.TrimLeft(line, " \t")
	return line == "FAIL" || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(s, "--- FAIL:") ||
		strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// isName reports whether a word is a benchmark's name, by the rule of the
// testing package: what follows Benchmark is no lower-case letter.
func isName(word string) bool {
	rest, ok := strings.CutPrefix(word, "Benchmark")
	return ok && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

func splitProcs(name string) (string, int) {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if procs, err := strconv.Atoi(name[i+1:]); err == nil && procs > 1 && name[i+1] != '+' && name[i+1] != '0' {
			return name[:i], procs
		}
	}
	return name, 1
}

func values(fields []string) ([]Value, error) {
	if len(fields)%2 != 0 {
		return nil, fmt.Errorf("%q is no list of values and units", strings.Join(fields, " "))
	}
	var out []Value
	for i := 0; i < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%q is no number of %s", fields[i], fields[i+1])
		}
		out = append(out, Value{Unit: fields[i+1], Value: v})
	}
	return out, nil
}
