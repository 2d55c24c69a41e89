// Package build makes benchmark binaries of a revision or of the working tree.
package build

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binary is a test binary and where it is to run.
type Binary struct {
	// Path is the executable's.
	Path string
	// Dir is the directory of the package that it was built from, where tests
	// expect to run.
	Dir string
	// Commit is the revision it was built from; "-dirty" at its end says that
	// the tree had changes.
	Commit string
}

// Tree builds the tests of package pkg ("./bench") of the tree that root, a
// directory in a Git repository, belongs to, into the directory out.
func Tree(ctx context.Context, root, pkg, out string) (Binary, error) {
	commit, err := Commit(ctx, root)
	if err != nil {
		return Binary{}, err
	}
	return compile(ctx, root, pkg, filepath.Join(out, "tree.test"), commit)
}

// Commit names the commit of the tree at root, with "-dirty" if it has changes.
func Commit(ctx context.Context, root string) (string, error) {
	return output(ctx, root, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
}

// Revision builds the tests of package pkg of another revision of the
// repository at root. The revision is unpacked in the directory out, and the
// repository is left as it is.
func Revision(ctx context.Context, root, revision, pkg, out string) (Binary, error) {
	commit, err := output(ctx, root, "git", "rev-parse", "--verify", "--short=12", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return Binary{}, err
	}
	tree := filepath.Join(out, commit)
	if err := unpack(ctx, root, commit, tree); err != nil {
		return Binary{}, fmt.Errorf("unpacking %s: %w", revision, err)
	}
	return compile(ctx, tree, pkg, filepath.Join(out, commit+".test"), commit)
}

// compile leaves paths and version control out of the binary, so that equal
// sources make equal binaries.
func compile(ctx context.Context, root, pkg, path, commit string) (Binary, error) {
	if _, err := output(ctx, root, "go", "test", "-c", "-trimpath", "-buildvcs=false", "-o", path, pkg); err != nil {
		return Binary{}, fmt.Errorf("building %s of %s: %w", pkg, commit, err)
	}
	if _, err := os.Stat(path); err != nil {
		return Binary{}, fmt.Errorf("%s of %s has no tests", pkg, commit)
	}
	return Binary{Path: path, Dir: filepath.Join(root, filepath.FromSlash(pkg)), Commit: commit}, nil
}

func unpack(ctx context.Context, root, commit, tree string) error {
	top, err := output(ctx, root, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "git", "archive", "--format=tar", commit)
	cmd.Dir = top
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	untarred := untar(pipe, tree)
	_, drained := io.Copy(io.Discard, pipe)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git archive: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return errors.Join(untarred, drained)
}

// untar writes what a tar archive holds under dir, and nothing outside of it.
func untar(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // Only read from here on.
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			err = write(root, name, os.FileMode(h.Mode&0o777), archive)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		}
		if err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, mode os.FileMode, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// output runs a command and returns what it printed. What it said on its error
// output is in the error.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
