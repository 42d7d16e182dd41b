package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// Commit applies b in one transaction. Once it has begun, it does not stop when ctx ends.
//
// An error that wraps engine.ErrUnwritable means that nothing was applied and that the store
// remains usable: the disk is full, the file cannot be written, or another program holds its
// lock. Commit also returns it while the store's files are moved, replaced or truncated; then
// the batch may have been written to a file that has lost its name.
// An error that wraps engine.ErrFenced means that another server has opened the store. After
// any other failure of a commit itself the store refuses all further ones.
func (s *Store) Commit(ctx context.Context, b *engine.Batch) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	defer s.leave()
	s.commits.Add(1)
	staged := s.unreferenced.stagedFor(b.Contents)
	loosened := 0
	write := s.write
	if b.NeedsNoSpace() {
		write = s.writeDrops
	}
	err := write(b.Hard, func(w *writer) error {
		before := w.droppedLarge
		err := w.apply(b, staged)
		if err == nil {
			err = w.appendEvents(s.epoch, b.Audit)
		}
		loosened = w.droppedLarge - before
		return err
	})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.unreferenced.removeStaged(staged)
	if s.unreferenced.drop(b.DropContents) || loosened > 0 || len(b.DropSubqueues) > 0 {
		wake(s.toSweep)
	}
	return nil
}

// write runs change in a transaction, while no other write runs. The error is errTight if the
// store is tight or becomes so; see reserve.go.
func (s *Store) write(hard bool, change func(*writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.writeLocked(hard, func() error {
		if s.diskFull.Load() {
			return s.clearDiskFull()
		}
		return nil
	}, change)
	if errors.Is(err, errNoRoom) {
		return errTight
	}
	return err
}

// writeDrops is write for a change that needs no space. If the disk is full, it releases the
// reserve and tries again.
func (s *Store) writeDrops(hard bool, change func(*writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.writeLocked(hard, nil, change)
	if errors.Is(err, errNoRoom) && s.releaseReserve() {
		err = s.writeLocked(hard, nil, change)
	}
	return err
}

// writeLocked runs change in a transaction with mu held. Unless `may` is nil, it first calls
// `may`; if that returns an error, writeLocked returns it without running change.
func (s *Store) writeLocked(hard bool, may func() error, change func(*writer) error) error {
	if s.failed != nil {
		return fmt.Errorf("an earlier write failed and the store must be reopened: %w", s.failed)
	}
	if err := s.filesLostError(); err != nil {
		return err
	}
	if err := s.diskFullError(); err != nil {
		return err
	}
	if s.indexTruncated.Load() {
		s.failed = errIndexTruncated
		return s.failed
	}
	if may != nil {
		if err := s.withIndexGuard(may); err != nil {
			return err
		}
	}
	how := maybeApplied
	err := s.withIndexGuard(func() (err error) {
		how, err = s.w.transact(hard, s.epoch, func() error { return change(s.w) })
		switch {
		case err != nil && how == notApplied && isFull(err):
			s.setDiskFull(err)
		case err == nil && s.diskFull.Load():
			s.checkpointAll()
		}
		return err
	})
	switch {
	case err == nil:
		if why := s.checkFiles(); why != nil { // the files may have changed before the write was durable
			return s.markFilesLost(why)
		}
		return nil
	case errors.Is(err, engine.ErrFenced):
		s.failed = err
		s.endOwnership()
		return err
	case how == notApplied && isFull(err):
		return fmt.Errorf("%w: %w", errNoRoom, err)
	case how == notApplied && unwritable(err):
		return fmt.Errorf("%w: %w", engine.ErrUnwritable, err)
	default:
		s.failed = err
		return err
	}
}

// unwritable reports whether err means that the file cannot be written now, but perhaps later.
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

// certainlyNotWritten reports whether a failed commit certainly did not write its last frame,
// because SQLite refused to. After any other failed write or flush, that frame may be in the
// log, and the commit may reappear after a crash.
func certainlyNotWritten(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.READONLY) || errors.Is(err, sqlite3.BUSY)
}
