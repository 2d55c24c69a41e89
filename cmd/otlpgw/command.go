package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
)

// version is set by the linker; see the Makefile.
var version = "unknown"

// run is the command without its process: arguments in, exit code out.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "version":
		return printVersion(stdout)
	case "check-config":
		return checkConfig(args[1:], stdout, stderr)
	case "explain":
		return runExplain(args[1:], stdin, stdout, stderr)
	}
	flags, err := config.ParseFlags(args, stdout)
	switch {
	case errors.Is(err, config.ErrHelp):
		return 0
	case err != nil:
		return fail(stderr, err)
	}
	cfg, err := config.Load(flags.File, flags, os.Getenv)
	if err != nil {
		return failConfig(stderr, flags.File, err)
	}
	logger, level := newLogger(stderr, cfg.Log)

	ctx, release := untilSignal()
	defer release()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	err = serve(ctx, starting{
		config: cfg,
		load:   func() (*config.Loaded, error) { return config.Load(flags.File, flags, os.Getenv) },
		hangup: hangup,
		logger: logger,
		level:  level,
	})
	if err != nil {
		logger.Error("stopped", "err", err)
		return 1
	}
	return 0
}

// checkConfig prints every fault of a file, each with its line.
func checkConfig(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' {
		return fail(stderr, errors.New("usage: otlpgw check-config FILE"))
	}
	cfg, err := config.Load(args[0], nil, os.Getenv)
	if err != nil {
		return failConfig(stdout, args[0], err)
	}
	if err := gatewaySettings(cfg).Check(); err != nil {
		return fail(stdout, err)
	}
	for _, key := range cfg.Ignored {
		fmt.Fprintf(stdout, "%s: %s: accepted and not honoured\n", args[0], key)
	}
	fmt.Fprintf(stdout, "%s: ok, storage.mode %s\n", args[0], cfg.Mode())
	return 0
}

// failConfig prints the faults of a configuration, one a line.
func failConfig(w io.Writer, file string, err error) int {
	var faults config.Faults
	if !errors.As(err, &faults) {
		return fail(w, err)
	}
	for _, f := range faults {
		if f.Line > 0 {
			fmt.Fprintf(w, "%s: ", file)
		}
		fmt.Fprintln(w, f)
	}
	return 1
}

func fail(w io.Writer, err error) int {
	fmt.Fprintln(w, "otlpgw:", err)
	return 1
}

func printVersion(w io.Writer) int {
	from := revision()
	if from != "" {
		from = ", revision " + from
	}
	fmt.Fprintf(w, "otlpgw %s (%s, %s/%s%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, from)
	return 0
}

// revision returns the commit that the binary was built from, if it knows.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}

// sameSignal is how soon after a signal another one is the same still:
// timeout(1) and shells send theirs to the process and to its group.
const sameSignal = 20 * time.Millisecond

// untilSignal returns a context that ends with the first SIGTERM or SIGINT.
// From then on signals have their plain meaning again, so that a second one
// ends the process at once.
func untilSignal() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		defer cancel()
		select {
		case <-signals:
			time.Sleep(sameSignal)
		case <-ctx.Done():
		}
		signal.Stop(signals)
	}()
	return ctx, cancel
}
