// Package otlp reads the OTLP metrics protocol and nothing else: views over
// the bytes of a request, without building messages.
//
// The wire has no order. The Collector writes fields in descending number, so
// that a metric's name follows its points; SDKs write them ascending and put
// the temporality after the points. So every level is read header first: a
// Parse function goes once over the fields of one message, checks the frames,
// and returns a view with the header fields and a [List] of the children.
//
// Views point into the body they were parsed from and live as long as it does.
// Parsing a view allocates nothing. The only exception to "into the body" are
// fields that arrived in pieces; those are joined in the caller's [Scratch].
package otlp
