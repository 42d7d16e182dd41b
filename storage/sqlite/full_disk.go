package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"mayfly/engine"
)

// A store on a full disk is opened with the space of its reserve. If there is no reserve, or it
// is not enough, the store is opened read-only, so that an operator can look at it before
// freeing space. SQLite needs a little space even then, for the index of the log, which is
// created in the folder for temporary files. Nothing is written until the disk has space; the
// store must then be opened again.

// A fullDisk keeps the indexes of logs in another folder.
type fullDisk struct {
	disk
	index string
}

type fullFile struct {
	diskFile
	index vfs.SharedMemory
}

func (f fullFile) SharedMemory() vfs.SharedMemory { return f.index }

func (f fullFile) Close() error { return errors.Join(f.index.Close(), f.diskFile.Close()) }

func (d fullDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.disk.OpenFilename(name, flags)
	if mine, ok := f.(diskFile); ok && err == nil && flags&vfs.OPEN_MAIN_DB != 0 {
		return fullFile{mine, vfs.NewSharedMemory(d.index, flags)}, flags, nil
	}
	return f, flags, err
}

// openOnFullDisk opens a store whose opening has failed because the disk is full: with the
// space of the reserve, or read-only. failed is the error; if it has another cause,
// openOnFullDisk returns it unchanged.
func (s *Store) openOnFullDisk(o Options, failed error) error {
	if info, err := os.Stat(s.path); err != nil || info.Size() == 0 || !s.failedForSpace(failed) {
		return failed
	}
	if s.releaseReserve() {
		s.diskFull.Store(true)
		if err := s.open(o); err == nil || s.w != nil {
			return err
		}
		s.diskFull.Store(false)
		s.saveReserve()
	}
	if !s.prepareReadOnly() {
		return failed
	}
	s.log.Error("the disk is full; opening the store read-only", "path", s.path, "err", failed)
	return s.open(o)
}

// failedForSpace reports whether the store could not be opened because the disk is full. If the
// index of the log cannot be created, SQLite's error does not give the reason, so
// failedForSpace checks for space.
func (s *Store) failedForSpace(failed error) bool {
	return isFull(failed) || (errors.Is(failed, sqlite3.IOERR) || errors.Is(failed, sqlite3.CANTOPEN)) && isFull(s.checkSpace())
}

// prepareReadOnly prepares for opening the store on a full disk read-only, with the index of the
// log in another folder. It reports whether that is possible.
func (s *Store) prepareReadOnly() bool {
	d, ok := vfs.Find(s.disk).(disk)
	if !ok {
		return false
	}
	dir, err := os.MkdirTemp("", "mayfly-index-")
	if err != nil {
		return false
	}
	s.tempIndexDir = dir
	s.disk += "-" + dir
	vfs.Register(s.disk, fullDisk{d, filepath.Join(dir, "index-shm")})
	return true
}

// minFreeBytes is how many bytes must be free before a commit is tried.
const minFreeBytes = 256 << 10

// checkSpace returns an error if minFreeBytes bytes cannot be written beside the store.
func (s *Store) checkSpace() error {
	d, ok := s.ownDisk()
	if !ok {
		return fmt.Errorf("%q is not a file system of this store", s.disk)
	}
	if err := d.fill(s.path+"-room", minFreeBytes); err != nil {
		return err
	}
	return os.Remove(s.path + "-room")
}

// diskFullError returns why nothing can be written to a store that was opened on a full disk, or
// nil for any other store.
func (s *Store) diskFullError() error {
	if s.tempIndexDir == "" {
		return nil
	}
	if err := s.checkSpace(); err != nil {
		return fmt.Errorf("%w: the disk is full: %w", engine.ErrUnwritable, err)
	}
	s.failed = errors.New("the disk has space again; the store must be reopened")
	return s.failed
}

// removeTempIndex removes the index that was put into another folder.
func (s *Store) removeTempIndex() error {
	if s.tempIndexDir == "" {
		return nil
	}
	vfs.Unregister(s.disk)
	return os.RemoveAll(s.tempIndexDir)
}
