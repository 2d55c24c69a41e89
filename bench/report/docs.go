package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// docs reads the doc comments of the benchmarks in some directories, by
// directory and name: bench/peers.BenchmarkPeers. A directory that is missing
// has none.
func docs(dirs ...string) (map[string]string, error) {
	comments := map[string]string{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Benchmark") && f.Doc != nil {
					comments[filepath.ToSlash(dir)+"."+f.Name.Name] = strings.TrimSpace(f.Doc.Text())
				}
			}
		}
	}
	return comments, nil
}

// doc returns the doc comment of a family.
func (r *record) doc(f *family) string {
	for key, text := range r.Docs {
		if dir, name, _ := strings.Cut(key, "."); name == f.name && strings.HasSuffix(f.pkg, dir) {
			return text
		}
	}
	return ""
}
