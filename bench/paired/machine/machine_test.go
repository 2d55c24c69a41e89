package machine

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

const cpuinfo = `processor	: 0
vendor_id	: GenuineIntel
model name	: Intel(R)   Xeon(R) Processor
flags		: fpu vme hypervisor avx

processor	: 1
model name	: another
`

func TestDescribe(t *testing.T) {
	got := describe(cpuinfo, "MemTotal:       25165824 kB\nMemFree: 1 kB\n", "6.18.44\n")
	require.Equal(t, Info{
		CPU: "Intel(R) Xeon(R) Processor", Cores: runtime.NumCPU(), Virtual: true, MemoryBytes: 24 << 30,
		OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: "6.18.44", Go: runtime.Version(),
	}, got)

	got.Cores, got.OS, got.Go = 2, "linux/amd64", "go1.26.8"
	require.Equal(t, "Intel(R) Xeon(R) Processor, 2 cores (virtual), 24.0 GiB, linux/amd64 6.18.44, go1.26.8", got.String())
}

// Where the kernel does not tell, what Go knows is enough.
func TestDescribeNothing(t *testing.T) {
	got := describe("", "", "")
	require.Equal(t, runtime.GOARCH, got.CPU)
	require.False(t, got.Virtual)
	got.Cores, got.OS, got.Go = 1, "plan9/arm", "go1.26.8"
	require.Equal(t, runtime.GOARCH+", 1 core, plan9/arm, go1.26.8", got.String())
}

func TestHere(t *testing.T) {
	got := Here()
	require.NotEmpty(t, got.CPU)
	require.Positive(t, got.Cores)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	var back Info
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, got, back)
}
