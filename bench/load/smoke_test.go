package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Relay and otlpgw, as processes, deliver every sample of 50 requests; how fast
// is not asked.
func TestDelivery(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processor time and memory are read from /proc")
	}
	var progress bytes.Buffer
	o := options{
		plan: plan{targets: 10, senders: 4, requests: 50}, runs: 1, singles: 3,
		root: "../..", bin: t.TempDir(),
	}
	rows, err := o.measure(t.Context(), &progress)
	require.NoError(t, err, progress.String())
	require.Len(t, rows, len(ours))
	for _, r := range rows {
		require.Len(t, r.results, 1)
		got := r.results[0]
		require.Equal(t, 50*samplesPerRequest, got.sent, r.name)
		require.Equal(t, got.sent, got.delivered, r.name)
		require.Positive(t, got.peakRSS, r.name)
		require.Positive(t, got.p50, r.name)
		require.Len(t, r.singles, 1)
		require.Len(t, r.singles[0], len(farDelays))
	}
	require.Zero(t, rows[0].results[0].info, "the relay posts what is ready-made")
	for _, r := range rows[1:] {
		require.Equal(t, 50, r.results[0].info, "%s: a request has one target_info", r.name)
	}
}

// A program that ends early is told with what it said last.
func TestProgramEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\necho no such flag\nexit 1\n"), 0o700))
	p := ours[0]
	_, err := lay(t.Context(), p, file)
	require.ErrorContains(t, err, "no such flag")
}
