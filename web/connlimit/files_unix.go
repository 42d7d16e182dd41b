//go:build unix

package connlimit

import (
	"math"
	"syscall"
)

// fileLimit returns how many files the process may have open, or zero for any number. Go's
// runtime has raised the limit as far as it may.
func fileLimit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	n := uint64(l.Cur) //nolint:unconvert,nolintlint // it is signed on some systems
	if n > math.MaxInt32 {
		return 0
	}
	return int(n)
}
