package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otlpgw/otlpgw/bench/paired/gobench"
	"github.com/otlpgw/otlpgw/bench/paired/machine"
	"github.com/otlpgw/otlpgw/bench/paired/trial"
)

// record is everything that a report is made from. It lies in the report's
// directory, so that the pages can be made again from the numbers.
type record struct {
	Date    time.Time    `json:"date"`
	Commit  string       `json:"commit"`
	Machine machine.Info `json:"machine"`
	// Quick says that the run was made to see whether it works.
	Quick bool `json:"quick,omitempty"`
	// Steps were run in this order.
	Steps []step `json:"steps"`
	// Docs are the doc comments of the benchmarks, see docs.
	Docs map[string]string `json:"docs"`
}

// step is one command and its output.
type step struct {
	// Name is that of the file: Name.txt is the output of go test, Name.json
	// the result of paired runs.
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Command string  `json:"command"`
	Seconds float64 `json:"seconds"`

	families []*family
	trial    *trial.Result
}

const recordFile = "record.json"

// load reads a record and the outputs of its steps.
func load(dir string) (*record, error) {
	b, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", recordFile, err)
	}
	for i := range r.Steps {
		if err := r.Steps[i].load(dir); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Steps[i].Name, err)
		}
	}
	return r, nil
}

func (s *step) load(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, s.Name+".json"))
	if err == nil {
		s.trial = &trial.Result{}
		return json.Unmarshal(b, s.trial)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.Open(filepath.Join(dir, s.Name+".txt"))
	if err != nil {
		return err
	}
	results, err := gobench.Parse(f)
	s.families = gather(results)
	return errors.Join(err, f.Close())
}

// save writes the record, without the outputs.
func (r *record) save(dir string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, recordFile), append(b, '\n'), 0o644)
}

// step returns the one with the given name, or nil.
func (r *record) step(name string) *step {
	for i := range r.Steps {
		if r.Steps[i].Name == name {
			return &r.Steps[i]
		}
	}
	return nil
}

// family is a benchmark with all its parts.
type family struct {
	pkg  string // the import path, if it was printed
	name string // BenchmarkRatio
	rows []*row
}

// row is one part on one number of processors, as often as it was run.
type row struct {
	name   string // what follows the family's name; empty if nothing does
	procs  int
	units  []string
	values map[string][]float64
}

// gather sorts results into families, in the order of their first appearance.
func gather(results []gobench.Result) []*family {
	var families []*family
	for _, r := range results {
		name, rest, _ := strings.Cut(r.Name, "/")
		i := slices.IndexFunc(families, func(f *family) bool { return f.name == name && f.pkg == r.Package })
		if i < 0 {
			i = len(families)
			families = append(families, &family{pkg: r.Package, name: name})
		}
		f := families[i]
		j := slices.IndexFunc(f.rows, func(o *row) bool { return o.name == rest && o.procs == r.Procs })
		if j < 0 {
			j = len(f.rows)
			f.rows = append(f.rows, &row{name: rest, procs: r.Procs, values: map[string][]float64{}})
		}
		f.rows[j].add(r.Values)
	}
	return families
}

func (r *row) add(values []gobench.Value) {
	for _, v := range values {
		if !slices.Contains(r.units, v.Unit) {
			r.units = append(r.units, v.Unit)
		}
		r.values[v.Unit] = append(r.values[v.Unit], v.Value)
	}
}

// family returns the one with the given name and its step, or nil.
func (r *record) family(name string) (*step, *family) {
	for i := range r.Steps {
		for _, f := range r.Steps[i].families {
			if f.name == name {
				return &r.Steps[i], f
			}
		}
	}
	return nil, nil
}
