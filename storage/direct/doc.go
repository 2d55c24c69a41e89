// Package direct is the backend without a disk: Commit returns nil when every
// required destination has accepted the transaction by remote write.
//
// Samples are ordered by shard. A shard is a hash of (tenant, job, instance);
// a transaction takes its place in a shard's line when the converter names the
// target, under that target's lock, and not when it commits. It takes another
// when it comes back to a shard and others are behind its first one: they hold
// older samples. Every destination has a line of its own per shard, with one
// request in flight. The parts of one
// transaction in different shards go their own ways, so that two transactions
// that meet in two shards in opposite order do not wait for each other's
// commit, only for the end of each other's conversion.
//
// When one required destination fails for now, the whole transaction does, and
// a retry goes to all of them again: far ends take equal samples twice (the
// Remote-Write specification asks that of them), and remembering who got what
// would need the identity of a transaction that the client does not give.
package direct
