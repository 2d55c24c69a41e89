// Package gateway takes bytes in and gives an honest answer out.
//
// It speaks OTLP/HTTP and OTLP/gRPC: it admits a request, reads and inflates
// it into one pooled buffer under limits, hands the bytes to a [Pusher], and
// turns what comes back into the answer that the OTLP specification asks for.
// It knows protocols and not metrics. It also serves the admin pages.
//
// One request, in order: the bytes on the wire are received (each step of the
// buffer is paid for at the gate first), a conversion slot is taken, the bytes
// are inflated (paid for in the same way), the Pusher is called and gives the
// slot back before it commits, and the bytes are given back with the answer.
// A slow sender therefore holds what it has sent and nothing else.
//
// Every error becomes an answer in one table, in status.go.
package gateway
