package pool

// PoisonByte fills memory that was given back, in builds that check.
const PoisonByte = 0xCC

// Poison overwrites b with [PoisonByte]. Scratch that is not a [Buffer] calls
// it from its own reset, guarded by [Poisoned].
func Poison(b []byte) {
	if len(b) == 0 {
		return
	}
	b[0] = PoisonByte
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
