package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pageFile is what a forge shows of a directory.
const pageFile = "README.md"

// write makes the page and its pictures in dir, from the record alone.
func (r *record) write(dir string) error {
	pictures := r.draw()
	page, err := r.page(pictures)
	if err != nil {
		return err
	}
	for _, p := range pictures {
		if err := os.WriteFile(filepath.Join(dir, p.file), p.text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, pageFile), []byte(page), 0o644)
}

func (r *record) page(pictures []svg) (string, error) {
	b := &strings.Builder{}
	p := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

	p("# Benchmarks of %s, commit %s\n", r.Date.Format("2006-01-02"), r.Commit)
	if r.Quick {
		p("**A quick run, which shows that the report works. Its figures are no evidence.**\n")
	}
	if strings.HasSuffix(r.Commit, "-dirty") {
		p("**The tree had changes that are in no commit.**\n")
	}
	p("Made by `make bench-report`. Figures are medians over the runs of a benchmark (`-count`); ± is half of what lies between the lowest")
	p("and the highest run, of what is compared. What every benchmark does is said by its doc comment, which stands above its table.\n")
	p("- machine: %s", r.Machine)
	p("- commit: `%s`", r.Commit)
	for _, s := range r.Steps {
		p("- `%s` (%s; [%s](%s))", s.Command, time.Duration(s.Seconds*float64(time.Second)).Round(time.Second), s.file(), s.file())
	}

	requirements, err := r.requirements()
	if err != nil {
		return "", err
	}
	if len(requirements.rows) > 0 {
		p("\n## What is asked\n")
		requirements.write(b)
	}
	if len(pictures) > 0 {
		p("\n## Pictures")
		for _, pic := range pictures {
			p("\n![%s. %s](%s)", pic.title, pic.subtitle, pic.file)
		}
	}
	for _, s := range r.Steps {
		if s.families == nil {
			continue
		}
		p("\n## %s", s.Title)
		for _, f := range s.families {
			p("\n### %s\n", strings.TrimPrefix(f.name, "Benchmark"))
			if doc := r.doc(f); doc != "" {
				p("%s\n", doc)
			}
			t := f.table()
			t.write(b)
			if n := f.runs(); n != "" {
				p("\n%s", n)
			}
		}
	}
	r.pairs(b)
	return b.String(), nil
}

// pairs writes the reference experiment and the paired runs.
func (r *record) pairs(b *strings.Builder) {
	p := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	if t := r.reference(); len(t.rows) > 0 {
		p("\n## The reference experiment\n")
		p("A pooled converter against one built per request, on a decoded request through the handler with a discarding backend: serial at")
		p("GOMAXPROCS=1, parallel at GOMAXPROCS=4, pairs of samples. *Published* is the case that this project starts from; *ours* is the median")
		p("of the paired changes.\n")
		t.write(b)
	}
	for _, s := range r.Steps {
		t := s.trial
		if t == nil {
			continue
		}
		p("\n## %s\n", s.Title)
		p("- baseline: %s", t.Baseline)
		p("- candidate: %s", t.Candidate)
		p("- benchmarks: `%s`", t.Bench)
		p("- control: %s", t.ControlNote())
		p("- method: %s\n", t.Method())
		table := trialTable(t)
		table.write(b)
		reason := ""
		if t.Reason != "" {
			reason = ": " + t.Reason
		}
		p("\nVerdict: **%s**%s", t.Verdict, reason)
	}
}

func (s *step) file() string {
	if s.trial != nil {
		return s.Name + ".json"
	}
	return s.Name + ".txt"
}

// runs says of how many runs the medians are.
func (f *family) runs() string {
	var counts []int
	for _, r := range f.rows {
		counts = append(counts, r.runs())
	}
	lo, hi := slices.Min(counts), slices.Max(counts)
	switch {
	case hi == 1:
		return "One run."
	case lo == hi:
		return fmt.Sprintf("Medians of %d runs.", lo)
	}
	return fmt.Sprintf("Medians of %d to %d runs.", lo, hi)
}
