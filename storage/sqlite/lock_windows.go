package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a byte far behind the text, because a locked byte cannot be read.
func tryLock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

// lockFile locks a byte of the store itself far beyond any byte that SQLite uses. The bytes
// before it can still be read.
func lockFile(f *os.File) error {
	at := windows.Overlapped{Offset: lockedByte & (1<<32 - 1), OffsetHigh: lockedByte >> 32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

// links returns zero, because the number of hard links is not known here.
func links(fs.FileInfo) uint64 { return 0 }

// syncDir does nothing: Windows makes names durable by itself.
func syncDir(string) error { return nil }
