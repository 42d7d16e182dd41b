package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// setOpenFileLock is F_OFD_SETLK of Darwin's fcntl.h.
const setOpenFileLock = 90

// lockFile locks a byte of the store itself far beyond any byte that SQLite uses. The lock
// belongs to the open file: closing another descriptor of the same file does not drop it, as
// it would a POSIX lock.
func lockFile(f *os.File) error {
	err := unix.FcntlFlock(f.Fd(), setOpenFileLock, &unix.Flock_t{Type: unix.F_WRLCK, Start: lockedByte, Len: 1})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errHeld
	}
	return err
}
