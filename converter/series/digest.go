package series

import "hash/maphash"

// Digest identifies canonical bytes. Its two halves are hashes under two
// secret seeds of this process: nobody outside can build two inputs that meet.
type Digest [2]uint64

var digestSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// hashOf returns the hash of a spelling.
func hashOf(b []byte) uint64 { return maphash.Bytes(digestSeeds[0], b) }

// DigestOf returns the digest of b.
func DigestOf(b []byte) Digest {
	return Digest{maphash.Bytes(digestSeeds[0], b), maphash.Bytes(digestSeeds[1], b)}
}
