package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A lock is held from open to close, on two files. One is a file beside the store that names
// the holder. The other is one byte of the store itself: that lock follows the file, whatever
// it is renamed to and whatever becomes of the file beside it. It is not one of the bytes that
// SQLite locks, so that other tools can read the store. The system releases both locks when the
// process ends, however it ends.
type lock struct {
	lockFile, storeFile *os.File
	created             bool // the store did not exist before
	unclean             bool // the last server did not release it
	named               bool // lockFile names this process
}

// errHeld is the error of tryLock and lockFile when another process has the lock.
var errHeld = errors.New("held")

// lockedByte is the offset of the byte of the store that its server locks. SQLite locks bytes
// between 1 GiB and 1 GiB + 512.
const lockedByte = 1 << 60

// making is the prefix of the lock file's content while a server creates the store. It marks an
// empty file that a killed server left as one that never was a store.
const making = "new "

// acquire takes the locks on the store at path, and creates the store if it does not exist.
// Releasing the lock does not delete the file beside the store: another server may just have
// locked it.
func acquire(path string) (_ *lock, err error) {
	if err := rejectEmptied(path); err != nil {
		return nil, err
	}
	l := &lock{created: wasBeingCreated(path)}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.abandon(path))
		}
	}()
	if l.lockFile, err = os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("the store %s cannot be opened: %w", path, err)
	}
	switch err := tryLock(l.lockFile); {
	case errors.Is(err, errHeld):
		return nil, fmt.Errorf("the store %s is in use by %s", path, lockOwner(l.lockFile))
	case err != nil:
		return nil, fmt.Errorf("the store %s cannot be locked: %w", path, err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		l.created = true
	}
	l.unclean = !l.created && lockOwner(l.lockFile) != someProcess
	l.named = true
	me := strconv.Itoa(os.Getpid()) + "\n"
	if l.created {
		me = making + me
	}
	if err := l.writeOwner(me); err != nil && !isFull(err) { // on a full disk, the lock file stays without a process id
		return nil, fmt.Errorf("the store %s cannot be locked: %w", path, err)
	}
	if l.storeFile, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("the store %s cannot be opened: %w", path, err)
	}
	switch err := lockFile(l.storeFile); {
	case errors.Is(err, errHeld):
		return nil, fmt.Errorf("the store %s is in use by another process, perhaps under another name", path)
	case err != nil:
		return nil, fmt.Errorf("the store %s cannot be locked: %w", path, err)
	}
	if err := rejectOtherNames(path, l.storeFile); err != nil {
		return nil, err
	}
	return l, nil
}

// opened records that the store was created completely.
func (l *lock) opened() error {
	if !l.created {
		return nil
	}
	return l.writeOwner(strconv.Itoa(os.Getpid()) + "\n")
}

// wasBeingCreated reports whether the last server of the store at path was killed while it
// created the store.
func wasBeingCreated(path string) bool {
	b, err := os.ReadFile(path + ".lock")
	return err == nil && strings.HasPrefix(string(b), making)
}

// rejectEmptied refuses a file that was a store and is empty or gone, while files that belong to
// it exist: a new store in its place would hide the loss.
func rejectEmptied(path string) error {
	info, err := os.Stat(path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone || err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) {
		return nil // opening it reports what is wrong
	}
	what := "is empty"
	if gone {
		what = "is missing"
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return fmt.Errorf("the store %s %s, but its write-ahead log %s-wal exists: put the file back, or move the log away to create a new store", path, what, path)
	}
	if _, err := os.Stat(path + ".lock"); err == nil && !gone && !wasBeingCreated(path) {
		return fmt.Errorf("the store %s %s, but a server has used it, as %s.lock shows: put the file back, or delete the empty file to create a new store", path, what, path)
	}
	return nil
}

// rejectOtherNames returns an error if f, the file at path, has another hard link and its
// write-ahead log may be named after that link: a killed server leaves a log that is named after
// the link it had opened.
func rejectOtherNames(path string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", path, err)
	}
	if links(info) < 2 {
		return nil
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", path, err)
	}
	here := uint64(0) // names of the file in this folder, except those with a log
	for _, e := range entries {
		other, err := e.Info()
		if err != nil || !os.SameFile(info, other) {
			continue
		}
		name := filepath.Join(filepath.Dir(path), e.Name())
		if log, err := os.Stat(name + "-wal"); err == nil && log.Size() > 0 {
			return fmt.Errorf("the store %s also has the name %s, and its write-ahead log has that name: open it by that name", path, name)
		}
		here++
	}
	if here < links(info) {
		return fmt.Errorf("the store %s has another name in another folder (it has %d hard links), and its write-ahead log may have that name: open it by that name, or delete that name when it has no log", path, links(info))
	}
	return nil
}

const someProcess = "another process"

// lockOwner describes the process that is named in the lock file, or returns someProcess if
// none is.
func lockOwner(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid := strings.TrimSpace(strings.TrimPrefix(string(b), making))
	switch {
	case err != nil || pid == "":
		return someProcess
	case pid == strconv.Itoa(os.Getpid()):
		return "this process"
	default:
		return "process " + pid
	}
}

// writeOwner replaces the content of the lock file.
func (l *lock) writeOwner(owner string) error {
	if err := l.lockFile.Truncate(0); err != nil {
		return err
	}
	_, err := l.lockFile.WriteAt([]byte(owner), 0)
	return err
}

func (l *lock) release() error {
	return errors.Join(l.writeOwner(""), l.storeFile.Close(), l.lockFile.Close())
}

// abandon releases the locks of the store at path, which was not opened, and removes an empty
// file that acquire created. If the last server was killed, the lock file keeps a process id, so
// that the next open notices that too.
func (l *lock) abandon(path string) error {
	var errs []error
	empty := false
	if l.storeFile != nil {
		info, err := l.storeFile.Stat()
		empty = err == nil && l.created && info.Size() == 0
		errs = append(errs, err, l.storeFile.Close())
	}
	if empty {
		errs = append(errs, os.Remove(path))
		for _, beside := range []string{path + "-wal", path + "-shm"} {
			if info, err := os.Stat(beside); err == nil && info.Size() == 0 {
				errs = append(errs, os.Remove(beside))
			}
		}
	}
	if l.named && !l.unclean {
		errs = append(errs, l.writeOwner(""))
	}
	if l.lockFile != nil {
		errs = append(errs, l.lockFile.Close())
	}
	return errors.Join(errs...)
}
