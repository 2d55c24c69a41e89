package explain

import (
	"context"
	"log/slog"
	"strings"

	"github.com/otlpgw/otlpgw/converter"
)

// Result is what becomes of a payload.
type Result struct {
	// Samples are in the order in which a backend gets them.
	Samples []Sample
	// Verdicts are the rejections and warnings in the order in which they
	// happened, at most maxVerdicts; Left counts those that are not listed.
	Verdicts []converter.Verdict
	Left     int
	Report   converter.Report
}

// maxVerdicts bounds the list of verdicts: a point that is rejected may be as
// small as two bytes.
const maxVerdicts = 10_000

// Run sends a payload through a pipeline with the gateway's options, of which
// Backend, Logger, Registerer and OnVerdict are replaced, and the limit on the
// age of samples is left out: when the payload was sent is not known. The error
// is a [*converter.DecodeError] for a body that is no OTLP.
func Run(ctx context.Context, o converter.Options, p Payload) (*Result, error) {
	l, err := newLine(o)
	if err != nil {
		return nil, err
	}
	return l.push(ctx, p)
}

// line is a pipeline whose verdicts and samples are kept.
type line struct {
	pipeline *converter.Pipeline
	backend  *collector
	result   *Result
}

func newLine(o converter.Options) (*line, error) {
	l := &line{backend: newCollector()}
	o.Backend = l.backend
	o.Logger = slog.New(slog.DiscardHandler)
	o.Registerer = nil
	o.OnVerdict = l.note
	o.Limits.MaxSampleAge = 0
	var err error
	l.pipeline, err = converter.New(o)
	return l, err
}

// note keeps a verdict. Its strings may be views into the payload.
func (l *line) note(v converter.Verdict) {
	if len(l.result.Verdicts) >= maxVerdicts {
		l.result.Left++
		return
	}
	v.Metric, v.Detail = strings.Clone(v.Metric), strings.Clone(v.Detail)
	l.result.Verdicts = append(l.result.Verdicts, v)
}

func (l *line) push(ctx context.Context, p Payload) (*Result, error) {
	l.result = &Result{}
	report, err := l.pipeline.Push(ctx, converter.Request{Body: p.Body, JSON: p.JSON})
	if err != nil {
		return nil, err
	}
	l.result.Report = report
	l.result.Samples = l.backend.take()
	return l.result, nil
}
