package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// tick is a unit of utime and stime: USER_HZ is 100 on all that Linux runs on.
const tick = 10 * time.Millisecond

// process is one that is measured.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended
	log  string        // file with what it printed
}

// startProcess starts a program that ends with kill or with ctx.
func startProcess(ctx context.Context, log, program string, args ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // The process has its own.
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{}), log: log}
	go func() {
		_ = cmd.Wait() // What it printed says more.
		close(p.done)
	}()
	return p, nil
}

// listening returns once somebody accepts connections at the address.
func (p *process) listening(ctx context.Context, address string) error {
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-retry.C:
		case <-p.done:
			return p.failed(errors.New("it ended before it listened"))
		case <-ctx.Done():
			return p.failed(ctx.Err())
		}
	}
}

// failed adds the end of the log to an error.
func (p *process) failed(err error) error {
	text, _ := os.ReadFile(p.log) // It may hold nothing.
	return fmt.Errorf("%s: %w\n%s", p.cmd.Path, err, text[max(0, len(text)-2000):])
}

// kill ends the process and waits for that. All that is asked of it has been
// delivered, so that nothing is lost by it, and draining takes a second.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // It may have ended.
	<-p.done
}

// cpu returns the user and system time of all its threads.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(text))
}

// parseStat reads utime and stime, fields 14 and 15 of proc_pid_stat(5). The
// second field is a name in parentheses, which may hold anything.
func parseStat(text string) (time.Duration, error) {
	_, rest, ok := cutLast(text, ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return 0, fmt.Errorf("stat has too few fields: %q", text)
	}
	var ticks int64
	for _, s := range f[11:13] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// peakRSS returns the most resident memory it ever had, in bytes.
func (p *process) peakRSS() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parsePeak(string(text))
}

// parsePeak reads VmHWM of proc_pid_status(5).
func parsePeak(text string) (int64, error) {
	for line := range strings.Lines(text) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("status has no VmHWM")
}

// freeAddress returns one of the loopback interface that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
