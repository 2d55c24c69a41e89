package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as 64MiB or 512KiB or as the bare number.
// KB, MB and GB mean the same powers of two, as in Prometheus's own settings.
type Size int64

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	// Longest suffix first, so that MiB is not read as a number that ends in Mi.
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1 << 10},
	{"MB", 1 << 20},
	{"GB", 1 << 30},
	{"TB", 1 << 40},
	{"B", 1},
	{"", 1},
}

// UnmarshalText parses what an operator wrote.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	for _, u := range sizeUnits {
		num, ok := strings.CutSuffix(in, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(num), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		*s = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("not a size; write a whole number with KiB, MiB or GiB, such as 64MiB")
}

// MarshalText returns the size in the largest unit that leaves it whole.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the size in the largest unit that leaves it whole.
func (s Size) String() string {
	for i := 3; i >= 0; i-- {
		u := sizeUnits[i]
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
