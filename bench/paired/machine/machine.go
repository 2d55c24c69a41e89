// Package machine says where a measurement was made. A number without its
// machine is no evidence.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Info describes a machine and the Go that programs are built with.
type Info struct {
	// CPU is the processor's model, or its architecture where the kernel does not tell.
	CPU string `json:"cpu"`
	// Cores is how many the process may use.
	Cores int `json:"cores"`
	// Virtual says that a hypervisor lies underneath: neighbours are unseen.
	Virtual bool `json:"virtual"`
	// MemoryBytes is the size of main memory, 0 where the kernel does not tell.
	MemoryBytes int64 `json:"memory_bytes"`
	// OS is the operating system and architecture: "linux/amd64".
	OS string `json:"os"`
	// Kernel is the kernel's release, if it is known.
	Kernel string `json:"kernel"`
	// Go is the version of Go of the program that asks.
	Go string `json:"go"`
}

// Here describes this machine.
func Here() Info {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			return "" // No Linux.
		}
		return string(b)
	}
	return describe(read("/proc/cpuinfo"), read("/proc/meminfo"), read("/proc/sys/kernel/osrelease"))
}

func describe(cpuinfo, meminfo, release string) Info {
	i := Info{
		CPU: runtime.GOARCH, Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Kernel: strings.TrimSpace(release), Go: runtime.Version(),
	}
	if model := field(cpuinfo, "model name"); model != "" {
		i.CPU = strings.Join(strings.Fields(model), " ")
	}
	for _, flag := range strings.Fields(field(cpuinfo, "flags")) {
		i.Virtual = i.Virtual || flag == "hypervisor"
	}
	kib, _ := strings.CutSuffix(field(meminfo, "MemTotal"), " kB")
	if n, err := strconv.ParseInt(kib, 10, 64); err == nil {
		i.MemoryBytes = n << 10
	}
	return i
}

// field finds the first line "key: value".
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// String is one line for people.
func (i Info) String() string {
	s := fmt.Sprintf("%s, %d cores", i.CPU, i.Cores)
	if i.Cores == 1 {
		s = i.CPU + ", 1 core"
	}
	if i.Virtual {
		s += " (virtual)"
	}
	if i.MemoryBytes > 0 {
		s += fmt.Sprintf(", %.1f GiB", float64(i.MemoryBytes)/(1<<30))
	}
	s += ", " + i.OS
	if i.Kernel != "" {
		s += " " + i.Kernel
	}
	return s + ", " + i.Go
}
