// Package remotewrite speaks Prometheus Remote-Write 1.0 and 2.0 to far ends.
//
// It holds what a sender needs between requests (a [Table] of series by ref,
// relabelled once for every destination), turns samples into messages without
// building any (AppendV1 and AppendV2 of [Encoder]), and delivers them with a
// [Sender], which knows what an answer means: whose fault a status is, what to
// send again, and when to speak the older version.
//
// The room keeps no queue. Whoever uses it orders the samples, gives a
// [Sender] one batch at a time, and runs one Sender per shard and destination.
package remotewrite
