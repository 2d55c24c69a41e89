// Package storage is the contract between the converter and whatever keeps the
// series: an embedded TSDB, a remote-write destination, a queue.
//
// It adds three things to Prometheus's own AppenderV2: who a failure belongs to
// ([Error]), which appends a far end refused ([Refusal]), and what nil from
// Commit means for each backend ([Backend]).
package storage
