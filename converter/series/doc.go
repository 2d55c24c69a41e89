// Package series is what is known about senders between requests.
//
// It knows bytes and series, not OTLP. Its parts:
//
//   - [Cache] finds a sender's state by the raw bytes of its resource, holds
//     the locks, bounds the memory and ages out what is not used.
//   - [Index] finds a value by raw bytes, first of all that which came there the
//     last time, and by what the bytes mean when they are new.
//   - [Record] is one series of one backend: its labels and its ref.
//   - [Group] is the series of one point, with the two marks that settle order
//     and duplicates, which they share as long as they are written together.
//   - [Records] finds the record of a label set, so that two streams that
//     translate to one series share its marks.
//
// Raw bytes are a key, not an identity: attribute order, fields split over the
// wire, or two resources with one job and instance reach the same series by
// different bytes. So every level has aliases (raw bytes), a canonical form (a
// [Digest] of the meaning), and below them the records (the labels).
package series
