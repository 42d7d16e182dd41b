package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/record"
)

var _ engine.History = (*Store)(nil)

const (
	// rememberedRows and forgottenRows are written or deleted in one
	// transaction, which takes about a millisecond or two.
	rememberedRows = 32
	forgottenRows  = 96
	// rowBytes is what a row of history takes beside what is packed in it, more
	// or less: its columns, and its places in indexes.
	rowBytes = 128
)

const (
	putHistory = `INSERT OR IGNORE INTO history (at, epoch, n, kind, audit, notable, key, path, to_path, actor, reason, count, packed, session)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	addToHistorySize = "UPDATE history_size SET bytes = bytes + ?"

	// Both delete the first rows from some place on and yield what was packed in
	// each; of those before an instant, or of those that no operator did.
	dropEarly  = `DELETE FROM history WHERE (at, epoch, n) IN (SELECT at, epoch, n FROM history WHERE at < ? ORDER BY at, epoch, n LIMIT ?) RETURNING length(packed)`
	dropOldest = `DELETE FROM history WHERE (at, epoch, n) IN (SELECT at, epoch, n FROM history
		WHERE (at, epoch, n) >= (?,?,?) AND (audit IS NULL OR ?) ORDER BY at, epoch, n LIMIT ?) RETURNING length(packed)`
	getOldest = `SELECT at, epoch, n, length(packed) FROM history
		WHERE (at, epoch, n) >= (?,?,?) AND (audit IS NULL OR ?) ORDER BY at, epoch, n LIMIT ?`
	getHistorySize = "SELECT bytes FROM history_size"
)

// notable tells whether events of kind k are few, and looked for among all
// others: they are not about one message each. What is written is marked with
// the answer, so another one needs a new format.
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

// remember adds events of an epoch to the history.
func (w *writer) remember(epoch uint64, events []engine.Event) error {
	if len(events) == 0 {
		return nil
	}
	size := int64(0)
	for i := range events {
		e := &events[i]
		w.scratch = record.AppendEvent(w.scratch[:0], e)
		r := into(w.putHistory)
		r.putInt(int64(e.At))
		r.putInt(int64(epoch))
		r.putInt(int64(e.N))
		r.putName(e.Kind.String())
		r.putSome(flag(e.Audit))
		r.putSome(flag(e.Audit || notable(e.Kind)))
		r.putSome(int64(e.Message.Key))
		r.putText(string(e.Path))
		r.putText(string(e.To))
		r.putText(e.Actor)
		r.putText(e.Reason)
		r.putSome(e.Count)
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

// Remember writes events in slices, each a soft transaction. An error leaves
// the slices before it written.
func (s *Store) Remember(ctx context.Context, events []engine.Event) error {
	for len(events) > 0 {
		commits := s.commits.Load()
		now := events[:min(len(events), rememberedRows)]
		if err := s.slice(ctx, func(w *writer) error { return w.remember(s.epoch, now) }); err != nil {
			return fmt.Errorf("remember events: %w", err)
		}
		events = events[len(now):]
		if err := s.giveWay(ctx, commits); err != nil {
			return fmt.Errorf("remember events: %w", err)
		}
	}
	return nil
}

// giveWay leaves the file to commits for a while, if there were any since
// there were so many.
func (s *Store) giveWay(ctx context.Context, commits int64) error {
	if s.commits.Load() == commits {
		return nil
	}
	return pause(ctx, sweepPause)
}

// Forget deletes what happened before an instant, then the oldest until the
// rest takes no more than most bytes, as history_size counts them. What
// operators did goes last.
func (s *Store) Forget(ctx context.Context, before engine.Instant, most int64) error {
	s.forgetting.Lock()
	defer s.forgetting.Unlock()
	if err := s.forgetEarly(ctx, before); err != nil {
		return fmt.Errorf("forget history: %w", err)
	}
	for _, audit := range []bool{false, true} {
		if err := s.forgetOldest(ctx, most, audit); err != nil {
			return fmt.Errorf("forget history: %w", err)
		}
	}
	return nil
}

func (s *Store) forgetEarly(ctx context.Context, before engine.Instant) error {
	if before == 0 {
		return nil
	}
	return s.slices(ctx, func(w *writer) (bool, error) {
		gone, err := w.forget(w.dropEarly, int64(before), forgottenRows)
		return gone == forgottenRows, err
	})
}

// forgetOldest deletes no more than is needed. The rows to delete are found
// beside the commits, so that those among them that stay cost nobody time.
func (s *Store) forgetOldest(ctx context.Context, most int64, audit bool) error {
	if most <= 0 {
		return nil
	}
	from := engine.PastPlace{At: math.MinInt64}
	for {
		next, n, err := s.tooMuch(ctx, from, most, audit)
		if err != nil || n == 0 {
			return err
		}
		from = next
		if err := s.slice(ctx, func(w *writer) error {
			_, err := w.forget(w.dropOldest, int64(from.At), int64(from.Epoch), int64(from.N), flag(audit), n)
			return err
		}); err != nil {
			return err
		}
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
}

// tooMuch finds the first rows from a place on that are to go for the rest to
// take no more than most bytes: where they begin, and how many of them for now.
func (s *Store) tooMuch(ctx context.Context, from engine.PastPlace, most int64, audit bool) (at engine.PastPlace, n int64, err error) {
	err = s.read(ctx, func(c *sqlite3.Conn) error {
		size, err := number(c, getHistorySize)
		if err != nil || size <= most {
			return err
		}
		return each(c, getOldest, func(r *row) bool {
			place := engine.PastPlace{At: engine.Instant(r.int()), Epoch: uint64(r.int()), N: uint64(r.int())}
			if n == 0 {
				at = place
			}
			n++
			size -= rowBytes + r.int()
			return size > most
		}, int64(from.At), int64(from.Epoch), int64(from.N), flag(audit), forgottenRows)
	})
	return at, n, err
}

// forget runs one of the statements that delete rows of history, and says how
// many are gone.
func (w *writer) forget(st *sqlite3.Stmt, args ...int64) (rows int64, err error) {
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
