// Package local keeps series in an embedded Prometheus TSDB: nil from Commit
// means that the samples are in the head and in the write-ahead log, so that
// killing the process loses none of them. (The log is not synced at every
// commit: a power cut may lose what the kernel had not written yet.)
//
// # What the TSDB drops behind a nil, and what is done about it
//
// A TSDB appender checks a sample when it is appended and again when it is
// committed, and what fails only the second check is dropped without an error.
// Each way in which the two can differ is closed before the TSDB sees the
// sample:
//
//   - Another transaction committed a newer sample of the series in between.
//     The store is opened with an out-of-order window, and whatever is older than
//     the window is refused in Append as too old, also where the TSDB would take
//     it (a sample that is in order, but would not be once the other
//     transaction is in).
//   - Another transaction, or this one, holds another value for the same series
//     and time. The table of samples in flight refuses the second as a conflict.
//   - A late sample has another value than the one that is stored for its time.
//     The TSDB compares with the last sample only; this package reads the stored
//     one back, and refuses as a conflict, or says nil where it is the same.
//   - The log of late samples cannot be written: the TSDB logs that as text and
//     says nil. Here the commit fails; the TSDB's own counter tells.
//
// # When the disk fails
//
// After a failed write the TSDB's log takes further records that cannot be
// read back. So the first failure makes the backend unavailable; it waits until
// the disk takes data again, opens the store anew, which repairs the log, and
// goes on. Series refs carry the number of the opening, since an opening may
// give out the inner refs of unlogged series again.
package local
