package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// Writes to a file that was deleted, moved, replaced or truncated are lost. Each commit checks
// the files after it is durable, so that no lost commit is acknowledged. A watcher checks
// between commits.

// watchEvery is half of the time within which a loss must be noticed.
const watchEvery = 500 * time.Millisecond

// reserveEvery is the number of checks after which watchLoop creates a missing reserve again.
const reserveEvery = 60

// A watchedFile is a file that must stay where it was opened, and must not become shorter.
type watchedFile struct {
	path string
	info fs.FileInfo
	size *fileSize
}

// watch begins to watch the store's files, which exist by now.
func (s *Store) watch() error {
	d, ok := s.ownDisk()
	if !ok {
		return fmt.Errorf("%q is not a file system of this store", s.disk)
	}
	s.files = nil // drop those of a failed attempt to open the store
	for _, path := range []string{s.path, s.path + "-wal"} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		s.files = append(s.files, watchedFile{path, info, d.lengths.get(path)})
	}
	return nil
}

// checkFiles returns an error if one of the store's files was deleted, moved, replaced or
// truncated.
func (s *Store) checkFiles() error {
	for i := range s.files {
		if err := s.files[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (w *watchedFile) check() error {
	now, err := w.look()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was deleted or moved", w.path)
	case err != nil:
		return nil // the folder cannot be read now, but the file is open
	case !os.SameFile(now, w.info):
		return fmt.Errorf("%s was replaced by another file", w.path)
	case w.size.truncated.Load():
		return fmt.Errorf("%s was truncated", w.path)
	}
	if least := w.size.minimum.Load(); now.Size() < least { // unless SQLite is truncating it just now
		w.size.mu.Lock()
		defer w.size.mu.Unlock()
		least = w.size.minimum.Load()
		if now, err = w.look(); err == nil && now.Size() < least {
			return fmt.Errorf("%s was truncated to %d of %d bytes", w.path, now.Size(), least)
		}
	}
	return nil
}

func (w *watchedFile) look() (fs.FileInfo, error) { return os.Stat(w.path) }

// markFilesLost records that the store's files have changed, and returns the error for commits.
// Nothing is written from then on, and the log is not moved, because the store may be another
// file. The caller holds mu, or is the last to use the store.
func (s *Store) markFilesLost(why error) error {
	err := fmt.Errorf("%w: %w; put the file back, or restart the server to continue with the present files", engine.ErrUnwritable, why)
	if s.filesLost.CompareAndSwap(nil, &err) {
		s.log.Error("the files of the store were moved, deleted or replaced", "path", s.path, "err", why)
		s.recoverLog()
		s.reportWriteFailure(err)
	}
	return *s.filesLost.Load()
}

// recoverLog moves the log into the store if only the log has lost its name: its file is still
// open, and complete. The caller holds mu, or is the last to use the store.
func (s *Store) recoverLog() {
	if s.logRecovered || s.files[0].check() != nil {
		return
	}
	if now, err := os.Stat(s.files[1].path); err == nil && os.SameFile(now, s.files[1].info) {
		return // it was truncated
	}
	if err := s.withIndexGuard(func() error {
		_, _, err := s.w.c.WALCheckpoint("main", sqlite3.CHECKPOINT_FULL)
		return err
	}); err != nil {
		s.log.Error("the write-ahead log was not moved into the store", "path", s.path, "err", err)
		return
	}
	s.logRecovered = true
	s.log.Info("the write-ahead log was moved into the store", "path", s.path)
}

// WriteFailure returns a channel that yields the reason why the store accepts no more writes,
// once, even if nothing is being committed.
func (s *Store) WriteFailure() <-chan error { return s.writeFailure }

// reportWriteFailure makes WriteFailure yield err, unless an earlier reason is still waiting.
func (s *Store) reportWriteFailure(err error) {
	select {
	case s.writeFailure <- err:
	default:
	}
}

// watchLoop checks the files every watchEvery until ctx ends or a check fails, in which case it
// calls markFilesLost.
func (s *Store) watchLoop(ctx context.Context) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if n%reserveEvery == 0 {
			s.renewReserve()
		}
		if err := s.checkFiles(); err != nil {
			s.mu.Lock()
			_ = s.markFilesLost(err) //nolint:errcheck // WriteFailure yields it
			s.mu.Unlock()
			return
		}
	}
}

// filesLostError returns why nothing can be written since the files were lost, or nil if they
// never were. If the files are back, it sets s.failed, because the store must be opened again.
// The caller holds mu.
func (s *Store) filesLostError() error {
	gone := s.filesLost.Load()
	if gone == nil {
		return nil
	}
	if why := s.checkFiles(); why != nil {
		return *gone
	}
	s.failed = errors.New("the files of the store were missing for a while and are back")
	return s.failed
}
