// Package bench is evidence: what a request costs here and in Prometheus's own
// OTLP handler, on the same bytes in the same run.
//
// From the root of the repository:
//
//	go test ./bench -bench . -cpu=1,4
//
// BenchmarkHandler measures each handler by itself, HTTP in process included;
// BenchmarkRatio alternates them request by request and prints how many times
// as many samples per second this one does; BenchmarkConvert leaves HTTP out.
// Both write to a backend that keeps the contract and throws the samples away.
package bench
