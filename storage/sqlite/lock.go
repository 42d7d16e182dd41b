package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A lock is held on a file beside the store from open to close. The system lets
// go of it when the process ends, however it ends. The store's own file is left
// to SQLite's locks, so that other tools can read it.
type lock struct{ f *os.File }

// errHeld is what tryLock says when somebody has the lock.
var errHeld = errors.New("held")

// acquire takes the lock on the store at path. The file stays when the lock is
// released: to delete it would be to delete one that another has just locked.
func acquire(path string) (*lock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the store %s cannot be opened: %w", path, err)
	}
	switch err := tryLock(f); {
	case errors.Is(err, errHeld):
		return nil, errors.Join(fmt.Errorf("the store %s is in use by %s", path, holder(f)), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("the store %s cannot be locked: %w", path, err), f.Close())
	}
	l := &lock{f}
	if err := l.sign(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		return nil, errors.Join(fmt.Errorf("the store %s cannot be locked: %w", path, err), f.Close())
	}
	return l, nil
}

// holder tells who has the lock, as far as it can be known.
func holder(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(b))
	switch {
	case err != nil || pid == "":
		return "another process"
	case pid == strconv.Itoa(os.Getpid()):
		return "this process already"
	default:
		return "process " + pid
	}
}

// sign writes who holds the lock.
func (l *lock) sign(who string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(who), 0)
	return err
}

func (l *lock) release() error { return errors.Join(l.sign(""), l.f.Close()) }
