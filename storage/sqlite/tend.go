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
	// longLog pages that came to the log are moved into the file beside the
	// commits. From fullLog on commits wait while the rest is moved, so that
	// the log begins anew.
	longLog   = 1000
	fullLog   = 3 * longLog
	shortRest = 64 // pages that take no time to speak of

	sweptMessages = 256 // in one transaction
	sweptRules    = 256
	sweptSessions = 64
	sweptSeen     = 256
	sweptChunks   = 8

	// Between the transactions of a sweep commits have the disk to themselves.
	sweepPause = 2 * time.Millisecond
	// A sweep that failed, on a full disk for instance, is tried again.
	sweepRetry = 30 * time.Second
)

// wake makes sure that whoever waits on c looks once more.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// logGrew is called after every commit, by the writer.
func (s *Store) logGrew(pages int) {
	moved := int(s.moved.Load())
	if pages < moved { // it has begun anew
		s.moved.Store(0)
		moved = 0
	}
	if pages-moved >= longLog {
		wake(s.logLong)
	}
}

// tend starts what goes on beside the calls, until Close.
func (s *Store) tend() error {
	c, err := s.connect(moving)
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.tending.Go(func() { s.moveLog(ctx, c) })
	s.tending.Go(func() { s.sweepOften(ctx) })
	wake(s.toSweep) // for what the last process left
	return nil
}

func (s *Store) moveLog(ctx context.Context, c *sqlite3.Conn) {
	for {
		select {
		case <-ctx.Done():
			if err := c.Close(); err != nil {
				s.log.Warn("A connection to the store was not closed.", "path", s.path, "err", err)
			}
			return
		case <-s.logLong:
			switch err := s.moveLogOnce(c); {
			case errors.Is(err, sqlite3.BUSY): // somebody is at it, or reads what is in the log: the next time, then
			case err != nil:
				s.log.Warn("The log was not moved into the store; it is tried again.", "path", s.path, "err", err)
			}
		}
	}
}

// moveLogOnce moves the log while commits go on. They are always ahead, so
// when it has become long they wait for the little that is left after a few
// turns.
func (s *Store) moveLogOnce(c *sqlite3.Conn) error {
	for turn := 0; ; turn++ {
		pages, moved, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		if err != nil {
			return err
		}
		came := moved - int(s.moved.Swap(int64(moved)))
		if pages < fullLog {
			return nil
		}
		if came < shortRest || turn == 3 {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART)
	return err
}

func (s *Store) sweepOften(ctx context.Context) {
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
			s.log.Warn("What was dropped was not swept; it is tried again.", "path", s.path, "err", err)
			retry.Reset(sweepRetry)
		}
	}
}

// sweep deletes everything that was dropped, in slices.
func (s *Store) sweep(ctx context.Context) error {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	bodies, err := s.identities(ctx, "SELECT key FROM loose")
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
	holders, err := s.identities(ctx, "SELECT holder FROM dropped")
	if err != nil || len(holders) == 0 {
		return err
	}
	if err := s.sweepMessages(ctx); err != nil {
		return err
	}
	for _, h := range holders {
		if err := s.sweepHolder(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// slices runs change in transactions of their own until it says that there is
// no more.
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

// pause leaves the file to others for a while.
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

func (s *Store) slice(ctx context.Context, change func(*writer) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.write(false, change)
}

func (s *Store) sweepBody(ctx context.Context, k engine.Key) error {
	return s.slices(ctx, func(w *writer) (bool, error) {
		// A content may have come to refer to it since it was found.
		loose, err := one(w.isLoose, func(*sqlite3.Stmt) {}, int64(k))
		if err != nil || !loose || !s.loose.sweepable(k) {
			return false, err
		}
		if err := errors.Join(w.between(w.dropBodies, int64(k), int64(k)), w.run(w.dropLarge, int64(k))); err != nil {
			return false, err
		}
		r := into(w.sweepChunks)
		r.putInt(int64(k))
		r.putInt(sweptChunks)
		if err := r.run(); err != nil || w.c.Changes() > 0 {
			return true, err
		}
		return false, w.run(w.dropLoose, int64(k))
	})
}

// sweepMessages deletes the messages of dropped holders. They are found by
// reading all, beside the commits.
func (s *Store) sweepMessages(ctx context.Context) error {
	after := int64(-1 << 63)
	for {
		keys, err := s.identities(ctx, `SELECT key FROM message
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

func (s *Store) sweepHolder(ctx context.Context, id int64) error {
	return s.slices(ctx, func(w *writer) (bool, error) {
		for _, of := range []struct {
			st   *sqlite3.Stmt
			most int64
		}{{w.sweepRules, sweptRules}, {w.sweepSessions, sweptSessions}, {w.sweepSeen, sweptSeen}} {
			if err := w.between(of.st, id, of.most); err != nil || w.c.Changes() > 0 {
				return true, err
			}
		}
		return false, errors.Join(w.run(w.dropOutdated, id), w.run(w.sweepDropped, id))
	})
}

// identities is what a query for one column of numbers yields.
func (s *Store) identities(ctx context.Context, sql string, args ...int64) (ids []int64, err error) {
	err = s.read(ctx, func(c *sqlite3.Conn) error {
		return each(c, sql, func(r *row) bool {
			ids = append(ids, r.int())
			return true
		}, args...)
	})
	return ids, err
}
