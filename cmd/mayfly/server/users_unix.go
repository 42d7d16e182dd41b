//go:build unix

package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockFolder locks a folder against other callers until the file is closed.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		return f, nil
	}
}

// copyOwner sets the owner of f to that of other.
func copyOwner(f *os.File, other fs.FileInfo) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	has, ok := is.Sys().(*syscall.Stat_t)
	wants, both := other.Sys().(*syscall.Stat_t)
	if !ok || !both || has.Uid == wants.Uid && has.Gid == wants.Gid {
		return nil
	}
	if err := f.Chown(int(wants.Uid), int(wants.Gid)); err != nil {
		return fmt.Errorf("its owner would no longer be user %d and group %d: %w", wants.Uid, wants.Gid, err)
	}
	return nil
}
