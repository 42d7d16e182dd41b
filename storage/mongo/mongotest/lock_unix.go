//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mongotest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock waits until no other process holds the lock on the file. It is released when the
// process ends.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
	}
}
