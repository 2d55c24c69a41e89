// Package storagetest is what tests of and around backends need: [Run], the
// contract suite that every backend passes; [Recorder], a double that keeps the
// contract and fails on demand; [Discard], which keeps nothing, for benchmarks.
//
// A double that breaks the contract proves nothing, so both doubles pass the
// suite as far as it applies to them.
package storagetest
