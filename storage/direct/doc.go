// Package direct is the backend without a disk: Commit returns nil when every
// required destination has accepted the transaction by remote write.
//
// # Order
//
// Samples are ordered by line. A line is a hash of (tenant, job, instance); a
// transaction takes its place in it when the converter names the target, under
// that target's lock, and not when it commits. It takes another when it comes
// back to a line and others are behind its first place: they hold older samples.
// Every destination has lines of its own, and nothing of a line is sent while
// something of it is in flight. The parts of one transaction in different lines
// go their own ways, so that two transactions that meet in two lines in opposite
// order do not wait for each other's commit, only for the end of each other's
// conversion.
//
// # Shared requests
//
// What is first in its line shares a request with what is first in others, and
// then with what is next. With nothing in flight a batch goes out at once;
// otherwise when it is full, when it is BatchMaxWait old, or with the next
// answer. Each transaction learns its own outcome: what a far end refuses of one
// is not told to the others (see storage/remotewrite), and its lines have
// requests of their own for some minutes.
//
// # Several destinations
//
// When one required destination fails for now, the whole transaction does. What
// another has accepted of it is remembered there for some minutes, by series,
// time and value, so that the client's retry goes to those who lack it.
package direct
