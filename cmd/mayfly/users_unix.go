//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockFolder has others who ask for the same wait, until the file is closed.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // whoever asks says what for
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

// giveTo has a file belong to whom another does.
func giveTo(f *os.File, other fs.FileInfo) error {
	is, err := f.Stat()
	if err != nil {
		return err //nolint:wrapcheck // whoever asks says what for
	}
	has, ok := is.Sys().(*syscall.Stat_t)
	wants, both := other.Sys().(*syscall.Stat_t)
	if !ok || !both || has.Uid == wants.Uid && has.Gid == wants.Gid {
		return nil
	}
	if err := f.Chown(int(wants.Uid), int(wants.Gid)); err != nil {
		return fmt.Errorf("it would not belong to the user %d and the group %d any more: %w", wants.Uid, wants.Gid, err)
	}
	return nil
}
