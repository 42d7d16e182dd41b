package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

const (
	// After checkpointPages new pages, the log is moved into the file while commits go on. From
	// blockingCheckpointPages on, commits wait while the rest is moved, so that the log starts
	// from its beginning again.
	checkpointPages         = 1000
	blockingCheckpointPages = 3 * checkpointPages
	shortCheckpointPages    = 64 // pages whose moving takes no noticeable time

	sweptMessages = 256 // in one transaction
	sweptRules    = 256
	sweptSessions = 64
	sweptSeen     = 256
	sweptChunks   = 8

	// sweepPause leaves the disk to commits between the transactions of a sweep.
	sweepPause = 2 * time.Millisecond
	// sweepRetry is the pause after a sweep that failed, for instance on a full disk.
	sweepRetry = 30 * time.Second
)

// wake sends to c, which holds one value, unless it is full, so that the receiver runs once more.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// requestCheckpoint requests a checkpoint if the log, which is `pages` pages long, has at least
// checkpointPages pages that are not in the file yet. The writer calls it after every commit.
func (s *Store) requestCheckpoint(pages int) {
	moved := int(s.checkpointed.Load())
	if pages < moved { // the log has started again
		s.checkpointed.Store(0)
		moved = 0
	}
	if pages-moved >= checkpointPages {
		wake(s.checkpointDue)
	}
}

// startBackground starts the background work, which Close ends.
func (s *Store) startBackground() error {
	c, err := s.connect(forCheckpoint)
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.checkpointLoop(ctx, c) })
	s.background.Go(func() { s.sweepLoop(ctx) })
	s.background.Go(func() { s.watchLoop(ctx) })
	wake(s.toSweep) // for records that the last process left
	return nil
}

func (s *Store) checkpointLoop(ctx context.Context, c *sqlite3.Conn) {
	for {
		select {
		case <-ctx.Done():
			if err := s.withIndexGuard(c.Close); err != nil {
				s.log.Warn("a connection to the store was not closed", "path", s.path, "err", err)
			}
			return
		case <-s.checkpointDue:
			if s.filesLost.Load() != nil || s.checkFiles() != nil { // the log may be another file
				continue
			}
			switch err := s.withIndexGuard(func() error { return s.checkpoint(c) }); {
			case errors.Is(err, sqlite3.BUSY): // another checkpoint runs, or a reader needs the log: retried next time
			case err != nil:
				s.log.Warn("the write-ahead log was not moved into the store; retrying", "path", s.path, "err", err)
			}
		}
	}
}

// checkpoint moves the log into the file while commits go on. They keep adding pages, so when
// the log has become long, commits wait after a few turns until the short rest is moved.
func (s *Store) checkpoint(c *sqlite3.Conn) error {
	for turn := 0; ; turn++ {
		pages, moved, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		if err != nil {
			return err
		}
		came := moved - int(s.checkpointed.Swap(int64(moved)))
		if pages < blockingCheckpointPages {
			return nil
		}
		if came < shortCheckpointPages || turn == 3 {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART)
	return err
}

func (s *Store) sweepLoop(ctx context.Context) {
	retry := time.NewTimer(sweepRetry)
	defer retry.Stop()
	for {
		retry.Stop()
		select {
		case <-ctx.Done():
			return
		case <-s.toSweep:
		case <-retry.C:
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errClosed) {
			s.log.Warn("deleted records were not swept; retrying", "path", s.path, "err", err)
			retry.Reset(sweepRetry)
		}
	}
}

// sweep deletes everything that was dropped, in short transactions.
func (s *Store) sweep(ctx context.Context) error {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	bodies, err := s.queryIDs(ctx, "SELECT key FROM loose")
	if err != nil {
		return err
	}
	for _, k := range bodies {
		if err := s.sweepBody(ctx, engine.Key(k)); err != nil {
			return err
		}
	}
	if err := s.sweepOutdated(ctx); err != nil {
		return err
	}
	holders, err := s.queryIDs(ctx, "SELECT holder FROM dropped")
	if err != nil || len(holders) == 0 {
		return err
	}
	if err := s.sweepMessages(ctx); err != nil {
		return err
	}
	for _, h := range holders {
		if err := s.sweepSubqueue(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// slices runs change repeatedly, each time in a transaction of its own and with a pause after it,
// until change reports that there is no more to do.
func (s *Store) slices(ctx context.Context, change func(*writer) (more bool, err error)) error {
	for more := true; more; {
		if err := s.slice(ctx, func(w *writer) (err error) {
			more, err = change(w)
			return err
		}); err != nil {
			return err
		}
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for d, or until ctx ends, so that commits can use the file.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// slice runs a change that only frees space, in one transaction.
func (s *Store) slice(ctx context.Context, change func(*writer) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.writeDrops(false, change)
}

func (s *Store) sweepBody(ctx context.Context, k engine.Key) error {
	return s.slices(ctx, func(w *writer) (bool, error) {
		// A content may refer to the body by now.
		loose, err := one(w.isUnreferenced, func(*sqlite3.Stmt) {}, int64(k))
		if err != nil || !loose || !s.unreferenced.sweepable(k) {
			return false, err
		}
		if err := w.runRange(w.dropBodies, int64(k), int64(k)); err != nil {
			return false, err
		}
		if err := w.run(w.dropLarge, int64(k)); err != nil {
			return false, err
		}
		r := into(w.sweepChunks)
		r.putInt(int64(k))
		r.putInt(sweptChunks)
		if err := r.run(); err != nil || w.c.Changes() > 0 {
			return true, err
		}
		return false, w.run(w.dropUnreferenced, int64(k))
	})
}

// sweepMessages deletes the messages of dropped subqueues. It finds them by reading all
// messages, while commits go on.
func (s *Store) sweepMessages(ctx context.Context) error {
	after := int64(-1 << 63)
	for {
		keys, err := s.queryIDs(ctx, `SELECT key FROM message
			WHERE key > ? AND holder IN (SELECT holder FROM dropped) ORDER BY key LIMIT ?`, after, sweptMessages)
		if err != nil || len(keys) == 0 {
			return err
		}
		after = keys[len(keys)-1]
		if err := s.slices(ctx, func(w *writer) (bool, error) {
			for _, k := range keys {
				if err := w.run(w.sweepMessages, k); err != nil {
					return false, err
				}
			}
			return false, nil
		}); err != nil {
			return err
		}
	}
}

func (s *Store) sweepSubqueue(ctx context.Context, id int64) error {
	return s.slices(ctx, func(w *writer) (bool, error) {
		for _, of := range []struct {
			st   *sqlite3.Stmt
			most int64
		}{{w.sweepRules, sweptRules}, {w.sweepSessions, sweptSessions}, {w.sweepSeen, sweptSeen}} {
			if err := w.runRange(of.st, id, of.most); err != nil || w.c.Changes() > 0 {
				return true, err
			}
		}
		if err := w.run(w.dropOutdated, id); err != nil {
			return false, err
		}
		return false, w.run(w.sweepDropped, id)
	})
}

// queryIDs returns the numbers in the one column that a query yields.
func (s *Store) queryIDs(ctx context.Context, sql string, args ...int64) (ids []int64, err error) {
	err = s.read(ctx, func(c *sqlite3.Conn) error {
		return each(c, sql, func(r *row) bool {
			ids = append(ids, r.int())
			return true
		}, args...)
	})
	return ids, err
}
