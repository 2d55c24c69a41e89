// Package e2e holds the tests that start the built binary and use it as people
// do: with the OpenTelemetry SDKs, with Prometheus's own receiver and client,
// with signals, and with the commands of the README.
package e2e
