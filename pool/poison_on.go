//go:build race || invariants

package pool

// Poisoned reports whether returned memory is overwritten.
const Poisoned = true

func poison(b []byte) { Poison(b) }
