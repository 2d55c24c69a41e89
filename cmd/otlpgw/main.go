// Command otlpgw receives OpenTelemetry metrics over OTLP and keeps them as
// Prometheus series, in an embedded TSDB or in a remote-write backend.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
