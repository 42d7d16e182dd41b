package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/codec"
)

var _ engine.History = (*Store)(nil)

const (
	// addedRows and deletedRows are the most rows that one transaction adds or deletes. It takes
	// about one or two milliseconds.
	addedRows   = 32
	deletedRows = 96
	// rowBytes is roughly how many bytes a row of history takes besides the packed event: its
	// columns, and its entries in indexes.
	rowBytes = 128
)

const (
	historyColumns = "at, epoch, n, kind, audit, notable, key, path, to_path, actor, reason, count, packed, session"

	putHistory       = "INSERT OR IGNORE INTO history (" + historyColumns + ", sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	addToHistorySize = "UPDATE history_size SET bytes = bytes + ?"

	// deleteBefore and dropOldest delete a number of rows, oldest first, and yield the length of
	// each packed event. deleteBefore deletes rows before an instant. dropOldest deletes rows
	// from a position on: all of them, or only those that are not audit events.
	deleteBefore = `DELETE FROM history WHERE (at, epoch, n) IN (SELECT at, epoch, n FROM history WHERE at < ? ORDER BY at, epoch, n LIMIT ?) RETURNING length(packed)`
	dropOldest   = `DELETE FROM history WHERE (at, epoch, n) IN (SELECT at, epoch, n FROM history
		WHERE (at, epoch, n) >= (?,?,?) AND (audit IS NULL OR ?) ORDER BY at, epoch, n LIMIT ?) RETURNING length(packed)`
	getOldest = `SELECT at, epoch, n, length(packed) FROM history
		WHERE (at, epoch, n) >= (?,?,?) AND (audit IS NULL OR ?) ORDER BY at, epoch, n LIMIT ?`
	getHistorySize = "SELECT bytes FROM history_size"
)

// notable reports whether events of kind k are rare and often searched for, because they are
// not about one message each. The result is stored with each row, so changing it requires a
// new format.
func notable(k engine.EventKind) bool {
	switch k {
	case engine.EventEntityCreated, engine.EventEntityUpdated, engine.EventEntityDeleted, engine.EventEntityAutoDeleted,
		engine.EventRuleAdded, engine.EventRuleRemoved, engine.EventPurged, engine.EventTouched,
		engine.EventStarted, engine.EventStopped, engine.EventReadOnly, engine.EventWritable, engine.EventReopened, engine.EventGap:
		return true
	default:
		return false
	}
}

// appendEvents adds events of an epoch to the history.
func (w *writer) appendEvents(epoch uint64, events []engine.Event) error {
	if len(events) == 0 {
		return nil
	}
	size := int64(0)
	for i := range events {
		e := &events[i]
		w.scratch = codec.AppendEvent(w.scratch[:0], e)
		r := w.into(w.putHistory, "history")
		r.putInt(int64(e.At))
		r.putInt(int64(epoch))
		r.putInt(int64(e.N))
		r.putName(e.Kind.String())
		r.putNonZero(flag(e.Audit))
		r.putNonZero(flag(e.Audit || notable(e.Kind)))
		r.putNonZero(int64(e.Message.Key))
		r.putText(string(e.Path))
		r.putText(string(e.To))
		r.putText(e.Actor)
		r.putText(e.Reason)
		r.putNonZero(e.Count)
		r.putBytes(w.scratch)
		r.putText(e.Session)
		if err := r.run(); err != nil {
			return err
		}
		if w.c.Changes() > 0 {
			size += rowBytes + int64(len(w.scratch))
		}
	}
	return w.run(w.addToHistorySize, size)
}

// AppendEvents writes events in soft transactions of up to addedRows events each. After an error
// the events of earlier transactions stay written.
func (s *Store) AppendEvents(ctx context.Context, events []engine.Event) error {
	for len(events) > 0 {
		commits := s.commits.Load()
		now := events[:min(len(events), addedRows)]
		if err := s.stageChunk(ctx, false, func(w *writer) error { return w.appendEvents(s.epoch, now) }); err != nil {
			return fmt.Errorf("remember events: %w", err)
		}
		events = events[len(now):]
		if err := s.yieldToCommits(ctx, commits); err != nil {
			return fmt.Errorf("remember events: %w", err)
		}
	}
	return nil
}

// yieldToCommits pauses for sweepPause if there were commits since s.commits had the value
// commits.
func (s *Store) yieldToCommits(ctx context.Context, commits int64) error {
	if s.commits.Load() == commits {
		return nil
	}
	return pause(ctx, sweepPause)
}

// TrimEvents deletes the events before the instant `before`, unless it is zero. Then, if `most`
// is positive, it deletes the oldest events until the rest takes no more than `most` bytes, as
// history_size counts them; it deletes audit events only after all others.
func (s *Store) TrimEvents(ctx context.Context, before engine.Instant, most int64) error {
	s.trimming.Lock()
	defer s.trimming.Unlock()
	if err := s.deleteEventsBefore(ctx, before); err != nil {
		return fmt.Errorf("forget history: %w", err)
	}
	for _, audit := range []bool{false, true} {
		if err := s.deleteOldestEvents(ctx, most, audit); err != nil {
			return fmt.Errorf("forget history: %w", err)
		}
	}
	return nil
}

func (s *Store) deleteEventsBefore(ctx context.Context, before engine.Instant) error {
	if before == 0 {
		return nil
	}
	return s.slices(ctx, func(w *writer) (bool, error) {
		gone, err := w.deleteEvents(w.deleteBefore, int64(before), deletedRows)
		return gone == deletedRows, err
	})
}

// deleteOldestEvents deletes the oldest events, except audit events unless audit is set, until
// the history takes no more than `most` bytes. It does nothing if `most` is not positive. It
// searches for the rows to delete while commits go on, so that skipping audit events delays no
// commit.
func (s *Store) deleteOldestEvents(ctx context.Context, most int64, audit bool) error {
	if most <= 0 {
		return nil
	}
	from := engine.HistoryCursor{At: math.MinInt64}
	for {
		next, n, err := s.excessEvents(ctx, from, most, audit)
		if err != nil || n == 0 {
			return err
		}
		from = next
		if err := s.slice(ctx, func(w *writer) error {
			_, err := w.deleteEvents(w.dropOldest, int64(from.At), int64(from.Epoch), int64(from.N), flag(audit), n)
			return err
		}); err != nil {
			return err
		}
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
}

// excessEvents finds the rows, from the position `from` on, to delete next because the history
// takes more than `most` bytes; it skips audit events unless audit is set. It returns the
// position of the first row and the number of rows, at most deletedRows. The number is zero if
// there is nothing to delete.
func (s *Store) excessEvents(ctx context.Context, from engine.HistoryCursor, most int64, audit bool) (at engine.HistoryCursor, n int64, err error) {
	err = s.read(ctx, func(c *sqlite3.Conn) error {
		size, err := number(c, getHistorySize)
		if err != nil || size <= most {
			return err
		}
		return each(c, getOldest, func(r *row) bool {
			cursor := engine.HistoryCursor{At: engine.Instant(r.int()), Epoch: uint64(r.int()), N: uint64(r.int())}
			if n == 0 {
				at = cursor
			}
			n++
			size -= rowBytes + r.int()
			return size > most
		}, int64(from.At), int64(from.Epoch), int64(from.N), flag(audit), deletedRows)
	})
	return at, n, err
}

// deleteEvents runs st, which deletes rows of history, and subtracts their size from
// history_size. It returns the number of deleted rows.
func (w *writer) deleteEvents(st *sqlite3.Stmt, args ...int64) (rows int64, err error) {
	r := into(st)
	for _, a := range args {
		r.putInt(a)
	}
	if r.err != nil {
		return 0, r.err
	}
	size := int64(0)
	for st.Step() {
		rows++
		size += rowBytes + st.ColumnInt64(0)
	}
	if err := st.Reset(); err != nil || rows == 0 {
		return rows, err
	}
	return rows, w.run(w.addToHistorySize, -size)
}
