// Package convertertest makes OTLP requests for tests: from readable text and
// from seeds, and turns each into the bytes that different senders write.
//
// A request is written in protobuf text format with three conveniences, see
// [Request]. [Encodings] lists the ways to put it on the wire: OTLP fixes the
// fields and not their order, so every fixture of the converter goes through
// all of them. [World] invents senders that export again and again.
//
// Everything here is for tests. Functions are deterministic in their arguments
// and safe for concurrent use; values are not.
package convertertest
