// Package bench is evidence: what a request costs here and in Prometheus's own
// OTLP handler, on the same bytes in the same run.
//
// From the root of the repository:
//
//	go test ./bench -bench . -cpu=1,4
//
// All write to a backend that costs nothing, unless said otherwise, and all fail if the points did not take the path that
// is measured: warm ones must all hit the cache, cold ones must all miss it.
//
// Against Prometheus's handler, in turns, on one processor; the ratios are
// medians over at least five turns of each, and how many turns beyond that
// -benchtime says:
//
//   - BenchmarkRatio, BenchmarkRatioConvert: warm requests, with HTTP in process
//     and without it on this side.
//   - BenchmarkCold: every series is new. BenchmarkChurn: one point in ten is.
//   - BenchmarkGrowth: warm, with up to a million cached series.
//   - BenchmarkEndToEnd: over loopback HTTP, each in a process of its own, with
//     processor time and resident memory (on Linux).
//
// Here alone:
//
//   - BenchmarkHandler, BenchmarkShared: from as many goroutines as -cpu says,
//     with targets of their own (Prometheus's handler beside it) or one target.
//   - BenchmarkScaling: what a second processor is worth.
//   - BenchmarkReceive, BenchmarkInflate, BenchmarkWalk, BenchmarkConvert,
//     BenchmarkEncode: the stages of a request.
//   - BenchmarkMemory: live heap per cached series. With -heap-profile=file it
//     writes what is kept as a profile.
//   - BenchmarkReference: the case that this project started from.
//
// What does not depend on -cpu is measured once; the lines of 0 iterations
// for the other -cpu mean nothing.
//
// What else is compared is in packages of their own: bench/peers measures other
// converters on these corpora, bench/load drives whole processes and those of
// peers, bench/paired compares two builds or two configurations of these
// benchmarks.
package bench
