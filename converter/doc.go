// Package converter turns OTLP meaning into Prometheus meaning.
//
// [Pipeline.Push] is the whole of it: it checks a converter out of a pool,
// walks the request's bytes, looks each point's series up in the target cache,
// appends to a storage transaction, settles it, and only then puts the
// converter back. The result is a [Report] with an exact count of data points.
package converter
