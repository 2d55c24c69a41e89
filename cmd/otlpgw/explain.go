package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/otlptranslator"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
	"github.com/otlpgw/otlpgw/cmd/otlpgw/explain"
)

const explainUsage = `otlpgw explain prints the series that an OTLP payload becomes, and everything
that is rejected or changed, with its reason.

Usage:
  otlpgw explain [flags] [FILE|-]

FILE, or standard input, holds the body of one export request: protobuf or JSON,
as it is, compressed (gzip, zstd), or in the frame of a gRPC message.

Flags:
  --config.file
        Configuration file (YAML) that says how to convert.
  --format=text
        text or json.
  --strategy
        Translation strategy, instead of the file's. Given twice, prints how
        metrics and labels are named by the first and by the second, old -> new:
        UnderscoreEscapingWithSuffixes, UnderscoreEscapingWithoutSuffixes,
        NoUTF8EscapingWithSuffixes, NoTranslation.

limits.max_sample_age is left out, since nobody knows when the payload was sent.
The exit code is 0 when the payload could be read, whatever was rejected.
`

// strategies are the translation strategies that Prometheus knows.
var strategies = []otlptranslator.TranslationStrategyOption{
	otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.UnderscoreEscapingWithoutSuffixes,
	otlptranslator.NoUTF8EscapingWithSuffixes, otlptranslator.NoTranslation,
}

// explainArgs is the command line of explain.
type explainArgs struct {
	config, format, file string
	strategies           []otlptranslator.TranslationStrategyOption
}

// parseExplain reads the arguments; flags may stand before and after the file.
func parseExplain(args []string) (a explainArgs, err error) {
	fs := flag.NewFlagSet("explain", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&a.config, "config.file", "", "")
	fs.StringVar(&a.format, "format", "text", "")
	fs.Func("strategy", "", func(s string) error {
		o := otlptranslator.TranslationStrategyOption(s)
		if !slices.Contains(strategies, o) {
			return fmt.Errorf("must be one of %s", strings.Trim(fmt.Sprint(strategies), "[]"))
		}
		a.strategies = append(a.strategies, o)
		return nil
	})
	var files []string
	for rest := args; ; {
		if err := fs.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return a, err
			}
			// The library writes -name; everything else here says --name.
			return a, errors.New(strings.Replace(err.Error(), " -", " --", 1))
		}
		if fs.NArg() == 0 {
			break
		}
		files = append(files, fs.Arg(0))
		rest = fs.Args()[1:]
	}
	switch {
	case a.format != "text" && a.format != "json":
		return a, fmt.Errorf("--format %q: must be text or json", a.format)
	case len(a.strategies) > 2:
		return a, errors.New("--strategy is given more than twice; two are compared")
	case len(files) > 1:
		return a, fmt.Errorf("unexpected argument %q; one payload is explained at a time", files[1])
	case len(files) == 1 && files[0] != "-":
		a.file = files[0]
	}
	return a, nil
}

// explained is what explain prints.
type explained interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

// runExplain is otlpgw explain.
func runExplain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a, err := parseExplain(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, explainUsage)
		return 0
	case err != nil:
		return fail(stderr, fmt.Errorf("explain: %w", err))
	}
	cfg, err := config.Load(a.config, nil, os.Getenv)
	if err != nil {
		return failConfig(stderr, a.config, err)
	}
	name := a.file
	if name == "" {
		name = "standard input"
	}
	out, err := a.explain(context.Background(), cfg, stdin)
	if err != nil {
		return fail(stderr, fmt.Errorf("explain: %s: %w", name, err))
	}
	write := out.WriteText
	if a.format == "json" {
		write = out.WriteJSON
	}
	if err := write(stdout); err != nil {
		return fail(stderr, fmt.Errorf("explain: %w", err))
	}
	return 0
}

func (a *explainArgs) explain(ctx context.Context, cfg *config.Loaded, stdin io.Reader) (explained, error) {
	limit := int64(max(cfg.HTTP.MaxRequestSize, cfg.GRPC.MaxRequestSize))
	raw, err := readPayload(a.file, stdin, limit)
	if err != nil {
		return nil, err
	}
	payload, err := explain.Open(raw, limit)
	if err != nil {
		return nil, err
	}
	o := pipelineOptions(cfg, nil, nil, nil)
	if len(a.strategies) == 2 {
		return explain.Compare(ctx, o, payload, a.strategies[0], a.strategies[1])
	}
	if len(a.strategies) == 1 {
		o.Names.Strategy = a.strategies[0]
	}
	return explain.Run(ctx, o, payload)
}

func readPayload(file string, stdin io.Reader, limit int64) ([]byte, error) {
	from := stdin
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, errors.Unwrap(err) // the name is said already
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	raw, err := io.ReadAll(io.LimitReader(from, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(raw)) > limit:
		return nil, explain.TooLarge(limit)
	}
	return raw, nil
}
