package main

import (
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// heapRatio of the cgroup's limit goes to the Go heap; the rest is for
	// stacks, mapped blocks and what the garbage collector has not got to.
	heapRatio = 0.9
	// maxUnlimitedInFlight is what requests may hold where nothing limits the
	// process's memory, in bytes: a machine that runs other things, too.
	maxUnlimitedInFlight = 1 << 30
)

// limitMemory sets the Go memory limit from the cgroup, unless GOMEMLIMIT did.
func limitMemory(logger *slog.Logger) {
	limit, err := memlimit.Set(memlimit.WithRatio(heapRatio), memlimit.WithProvider(memlimit.FromCgroup))
	if err != nil {
		// A kernel without cgroups, or one whose files this process may not read.
		logger.Debug("no memory limit from the cgroup", "err", err)
		limit = debug.SetMemoryLimit(-1)
	}
	if limit > 0 && limit < math.MaxInt64 {
		logger.Info("memory limit", "bytes", limit)
	}
}

// memoryShare returns what one of the large holders of memory may hold: a
// quarter of the memory limit, or of the machine's memory, but then at most 1 GiB.
func memoryShare() int64 {
	if limit := debug.SetMemoryLimit(-1); limit > 0 && limit < math.MaxInt64 {
		return limit / 4
	}
	if total, err := memlimit.FromSystem(); err == nil && total/4 < maxUnlimitedInFlight {
		return int64(total / 4)
	}
	return maxUnlimitedInFlight
}
