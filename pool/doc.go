// Package pool is memory that comes back: typed pools with a reset hook and a
// retention cap, and levelled byte buffers.
//
// Everything here follows one rule: what is put back is clean, is not too
// large, and must not be touched again by whoever put it back. Builds with the
// race detector or the tag "invariants" enforce the last part by filling
// returned buffers with [PoisonByte], so that a view that outlived its request
// reads garbage in a test instead of another tenant's data in production.
package pool
