// Package peers is evidence: what the product costs beside the converters of
// other projects, on the same bytes in the same run.
//
// It is a module of its own, because the product must not depend on its peers.
// From this folder:
//
//	go test ./...                               # each peer once, and what it made is counted
//	go test -run '^$' -bench . -cpu=1           # the ratios
//	go test -run '^$' -bench Peers/sdk -cpu=1 -benchtime=30s
//
// The first build takes a few minutes; a run takes about one.
//
// BenchmarkPeers goes from the bytes of an OTLP request to series with labels
// and samples, which is what all of them have in common. Where each stops:
//
//   - otlpgw: converter.Pipeline.Push on warm series, up to and including the
//     Appends and the Commit of a backend that throws the samples away. No HTTP.
//   - prometheus: storage/remote.NewOTLPWriteHandler over the same backend, in
//     process, with scope labels on as here. It has no entry below HTTP.
//   - vmagent: lib/protoparser/opentelemetry/stream with Prometheus naming, up
//     to the callback that gets the series. By default it makes labels of all
//     resource attributes, which the others do not; vmagent-unpromoted makes
//     none, not even job and instance, and is the stricter measure.
//   - contrib-rw1, contrib-rw2: the OpenTelemetry Collector's unmarshaler and
//     the translator of its remote-write exporter, up to prompb.TimeSeries and
//     writev2.TimeSeries, before the exporter batches and encodes.
//
// vmagent turns an exponential histogram into other series (a bucket series for
// every bucket in use), so it takes part in shapes without them only; such a
// shape is derived from each that has them.
//
// One round gives each a turn of at least a tenth of a second, in an order that
// moves on by one with each round. A turn begins with a garbage collection, so
// that nobody pays for what another left behind, and with one request that is
// not timed but counted: a number of samples other than the corpus holds, or a
// metric that kept its dots, fails the benchmark, and so do turns of otlpgw in
// which a point was not found in the cache by its raw bytes. Patching the next
// second into the body is timed, for all alike. Printed are the medians over at
// least five rounds, of samples per second and of memory, and, as x-<peer>, the
// median over the rounds of how many times as many samples per second otlpgw
// does; x-<peer>-cpu is the same by the processor time of the process, which is
// steadier where other processes run. A sample is one of the corpus:
// target_info is not counted for those that make it.
//
// So small a process collects garbage often, which weighs on whoever makes
// much. GOGC=400 in the environment shows the ratios with most of that gone.
//
// BenchmarkEncode goes on to what the Collector puts on the wire, a marshaled
// write request in a Snappy block. It has no ratio, since otlpgw's encoders are
// measured with its delivery.
package peers
