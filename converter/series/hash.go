//go:build !slicelabels && !dedupelabels

package series

import (
	"hash/maphash"

	"github.com/prometheus/prometheus/model/labels"
)

// hashOfLabels returns where the record of a label set stands: a hash under a
// secret seed, so that nobody outside can make many label sets meet.
func hashOfLabels(ls labels.Labels) uint64 { return maphash.Comparable(digestSeeds[1], ls) }
