package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// Commit applies b in one transaction. A batch that has begun is not given up
// when ctx ends.
//
// Errors that wrap engine.ErrUnwritable mean that nothing was applied and that
// the store goes on: the disk is full, the file cannot be written, another
// program holds it. One that wraps engine.ErrFenced means that the file is no
// longer where it was opened. After any other failure of a commit itself the
// store refuses all further ones.
func (s *Store) Commit(ctx context.Context, b *engine.Batch) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	defer s.leave()
	s.commits.Add(1)
	staged := s.loose.stagedFor(b.Contents)
	loosened := 0
	err := s.write(b.Hard, func(w *writer) error {
		before := w.loosened
		err := w.apply(b, staged)
		if err == nil {
			err = w.remember(s.epoch, b.Audit)
		}
		loosened = w.loosened - before
		return err
	})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.loose.taken(staged)
	if s.loose.unwanted(b.DropContents) || loosened > 0 || len(b.DropHolders) > 0 {
		wake(s.toSweep)
	}
	return nil
}

// write runs change in a transaction, alone.
func (s *Store) write(hard bool, change func(*writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return fmt.Errorf("an earlier write failed and the store must be reopened: %w", s.failed)
	}
	if err := s.stillThere(); err != nil {
		return err
	}
	how, err := s.w.transact(hard, func() error { return change(s.w) })
	switch {
	case err == nil:
		return nil
	case how == certain && unwritable(err):
		return fmt.Errorf("%w: %w", engine.ErrUnwritable, err)
	default:
		s.failed = err
		return err
	}
}

// stillThere notices a file that was replaced or deleted: what is written to
// it now, nobody will find again.
func (s *Store) stillThere() error {
	switch now, err := os.Stat(s.path); {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: %s was deleted or moved", engine.ErrFenced, s.path)
		s.failed = err
		s.lose()
		return err
	case err == nil && !os.SameFile(now, s.file):
		err = fmt.Errorf("%w: %s was replaced by another file", engine.ErrFenced, s.path)
		s.failed = err
		s.lose()
		return err
	default: // an error here is for the write to find
		return nil
	}
}

// unwritable tells whether err is about the file or the disk and may pass by
// itself.
func unwritable(err error) bool {
	for _, code := range []sqlite3.ErrorCode{
		sqlite3.FULL, sqlite3.READONLY, sqlite3.PERM, sqlite3.CANTOPEN, sqlite3.BUSY, sqlite3.LOCKED,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return errors.Is(err, sqlite3.IOERR_WRITE)
}

// neverWritten tells of a commit that failed whether it is certain that its
// last write, which would make it count, did not take place: it was refused.
// Of a write or a flush that failed otherwise a crash may bring up all.
func neverWritten(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.READONLY) || errors.Is(err, sqlite3.BUSY)
}
