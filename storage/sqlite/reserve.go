package sqlite

import (
	"errors"
	"fmt"
	"os"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"mayfly/engine"
)

// The reserve is a file beside the store that makes it possible to delete messages on a full
// disk, because SQLite needs space in the log to delete. A store on a full disk is called
// tight: it accepts only operations that free space, and releases the reserve for them. It
// moves the log into the store after each commit, so that the next commit writes over it.
// Other operations are refused until there is space for the reserve again, or until enough of
// the store itself is free: SQLite keeps the space of deleted rows in the file, for new ones.

const (
	reserveSize = 4 << 20
	// minFreeInFile is how many bytes must be free in the file of a tight store before it accepts
	// operations that need space.
	minFreeInFile = 1 << 20
)

var (
	errNoRoom = fmt.Errorf("%w: the disk is full", engine.ErrUnwritable)
	// errTight is the error for operations that a tight store refuses.
	errTight = fmt.Errorf("%w; messages can still be received and deleted", errNoRoom)
)

func (s *Store) reservePath() string { return s.path + "-reserve" }

// makeReserve creates the reserve, unless it exists. The caller holds mu, or is the only
// one to use the store.
func (s *Store) makeReserve() error {
	if info, err := os.Stat(s.reservePath()); err == nil && info.Size() >= reserveSize {
		return nil
	}
	d, ok := s.ownDisk()
	if !ok {
		return fmt.Errorf("%q is not a file system of this store", s.disk)
	}
	// A smaller reserve is kept until the new one is complete.
	whole := s.reservePath() + "-new"
	if err := d.fill(whole, reserveSize); err != nil {
		return err
	}
	if err := os.Rename(whole, s.reservePath()); err != nil {
		return errors.Join(err, os.Remove(whole))
	}
	return nil
}

// ownDisk returns the disk that is registered as s.disk. It returns false if s.disk is another
// file system.
func (s *Store) ownDisk() (disk, bool) {
	switch d := vfs.Find(s.disk).(type) {
	case disk:
		return d, true
	case fullDisk:
		return d.disk, true
	default:
		return disk{}, false
	}
}

// releaseReserve deletes the reserve, and reports whether there was one. The caller holds mu,
// or is the only one to use the store.
func (s *Store) releaseReserve() bool {
	if os.Remove(s.reservePath()) != nil {
		return false
	}
	s.log.Warn("the disk is full; the reserved space was released so that messages can be deleted", "path", s.reservePath())
	return true
}

// setDiskFull makes the store tight, and moves the log into the store. why is the error that
// showed that the disk is full. The caller holds mu.
func (s *Store) setDiskFull(why error) {
	if !s.diskFull.Swap(true) {
		s.log.Error("the disk is full; the store accepts only deletions and changes to existing messages", "path", s.path, "err", why)
	}
	s.checkpointAll()
}

// checkpointAll moves the log into the store, so that the next commit writes over it. If a
// reader prevents that, the log grows.
func (s *Store) checkpointAll() {
	if _, _, err := s.w.c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); err != nil && !errors.Is(err, sqlite3.BUSY) {
		s.log.Warn("the write-ahead log was not moved into the store", "path", s.path, "err", err)
	}
}

// clearDiskFull returns nil if a tight store can again accept operations that need space, else
// errTight. Once the reserve exists again and the disk has space, the store is no longer tight.
// The caller holds mu.
func (s *Store) clearDiskFull() error {
	free, err := number(s.w.c, "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
	if err == nil && free >= minFreeInFile {
		return nil
	}
	if s.makeReserve() != nil || s.checkSpace() != nil {
		return errTight
	}
	s.diskFull.Store(false)
	s.log.Info("the disk has space again", "path", s.path)
	return nil
}

// AcceptsDrops reports whether the disk is full and the store accepts only operations that free
// space.
func (s *Store) AcceptsDrops() bool {
	return s.diskFull.Load() && s.tempIndexDir == "" && s.filesLost.Load() == nil
}

// saveReserve creates a reserve, or a smaller one, from the space that the log took, for the
// next start. It is called when the store is closed.
func (s *Store) saveReserve() {
	d, ok := s.ownDisk()
	if _, err := os.Stat(s.reservePath()); err == nil || !ok {
		return
	}
	for size := reserveSize; size >= minFreeBytes && d.fill(s.reservePath(), size) != nil; size /= 2 {
	}
}

// renewReserve creates the reserve again if it was released or could not be created.
func (s *Store) renewReserve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tempIndexDir != "" || s.makeReserve() != nil || !s.diskFull.Load() || s.checkSpace() != nil {
		return
	}
	s.diskFull.Store(false)
	s.log.Info("the disk has space again", "path", s.path)
}
