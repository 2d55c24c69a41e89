package main

import (
	"io"
	"log/slog"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
)

// newLogger returns the process's logger. The configuration was checked.
func newLogger(w io.Writer, c config.Log) *slog.Logger {
	o := &slog.HandlerOptions{}
	switch c.Level {
	case "debug":
		o.Level = slog.LevelDebug
	case "warn":
		o.Level = slog.LevelWarn
	case "error":
		o.Level = slog.LevelError
	default:
		o.Level = slog.LevelInfo
	}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
