//go:build !race && !invariants

package pool

// Poisoned reports whether returned memory is overwritten.
const Poisoned = false

func poison([]byte) {}
