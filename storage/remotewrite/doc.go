// Package remotewrite speaks Prometheus Remote-Write 1.0 and 2.0 to far ends.
//
// It holds what a sender needs between requests (a [Table] of series by ref,
// relabelled once for every destination), turns samples into messages without
// building any (AppendV1 and AppendV2 of [Encoder]), and delivers them with a
// [Sender], which knows what an answer means: whose fault a status is, what to
// send again, when to speak the older version, and which of the transactions
// that share a request a refusal is about.
//
// The room keeps no queue. Whoever uses it orders the samples, gives a
// [Sender] one batch at a time, and sees to it that no two batches for one
// destination carry the same series at once.
//
// # Symbols
//
// The strings of all series are numbered once, by a dictionary of the table. A
// series is a template, which it shares with its neighbours, and up to three
// values of its own. An encoder writes a template's references once per message
// and changes in them what differs from one series to the next, so that neither
// strings are looked up nor references encoded per series; a message holds the
// strings that it uses, each once, whatever number of targets it is about. The
// same serves 1.0, whose label bytes need not be kept per series.
package remotewrite
