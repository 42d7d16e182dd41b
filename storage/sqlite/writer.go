package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/record"
)

// A writer is the one connection that changes the file, with its statements.
// It is not safe for concurrent use.
type writer struct {
	c       *sqlite3.Conn
	flushes bool    // every commit flushes the log: synchronous is FULL
	scratch []byte  // for what must be bytes and is a string
	dropped []int64 // keys in order

	loosened int // large bodies, and long rows of what was seen, that batches have dropped, since open

	begin, commit, rollback *sqlite3.Stmt

	putEntity, putRule, putMeter, putPlain, putExtra, putContent *sqlite3.Stmt
	putBody, putLarge, putChunk, putLoose, putDropped            *sqlite3.Stmt
	putSession, putSeen, putOutdated, putAccess, putSetting      *sqlite3.Stmt

	dropEntity, dropRule, dropMeter, dropSession, dropSetting *sqlite3.Stmt
	dropSeen, isOutdated, dropOutdated                        *sqlite3.Stmt
	dropMessages, dropContents, dropBodies                    *sqlite3.Stmt // from one key to another
	dropLarge, dropLoose, isLoose                             *sqlite3.Stmt
	sweepChunks, sweepMessages, sweepRules, sweepDropped      *sqlite3.Stmt
	sweepSessions, sweepSeen                                  *sqlite3.Stmt

	putHistory, addToHistorySize, dropEarly, dropOldest *sqlite3.Stmt
}

// newWriter takes c over. grew is called after each commit with the length of
// the log in pages.
func newWriter(c *sqlite3.Conn, grew func(pages int)) (*writer, error) {
	w := &writer{c: c}
	if err := w.flush(true); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		st  **sqlite3.Stmt
		sql string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.putEntity, putEntity()},
		{&w.putRule, putRule},
		{&w.putMeter, putMeter},
		{&w.putPlain, putPlain},
		{&w.putExtra, putExtra},
		{&w.putContent, putContent},
		{&w.putBody, "INSERT OR REPLACE INTO body (key, bytes) VALUES (?,?)"},
		{&w.putLarge, "INSERT OR REPLACE INTO large (key, size) VALUES (?,?)"},
		{&w.putChunk, "INSERT OR REPLACE INTO chunk (body, n, bytes) VALUES (?,?,?)"},
		{&w.putLoose, "INSERT OR REPLACE INTO loose (key) VALUES (?)"},
		{&w.putDropped, "INSERT OR REPLACE INTO dropped (holder) VALUES (?)"},
		{&w.putSession, putSession},
		{&w.putAccess, putAccess},
		{&w.putSetting, putSetting},
		{&w.putSeen, putSeen},
		{&w.putOutdated, putOutdated},
		{&w.dropEntity, "DELETE FROM entity WHERE id = ?"},
		{&w.dropRule, "DELETE FROM rule WHERE subscription = ? AND folded = ?"},
		{&w.dropMeter, "DELETE FROM meter WHERE holder = ?"},
		{&w.dropSession, "DELETE FROM session WHERE holder = ? AND id = ?"},
		{&w.dropSetting, "DELETE FROM setting WHERE key = ?"},
		{&w.dropSeen, dropSeen},
		{&w.isOutdated, isOutdated},
		{&w.dropOutdated, "DELETE FROM outdated WHERE holder = ?"},
		{&w.dropMessages, "DELETE FROM message WHERE key BETWEEN ? AND ?"},
		{&w.dropContents, "DELETE FROM content WHERE key BETWEEN ? AND ?"},
		{&w.dropBodies, "DELETE FROM body WHERE key BETWEEN ? AND ?"},
		{&w.dropLarge, "DELETE FROM large WHERE key = ?"},
		{&w.dropLoose, "DELETE FROM loose WHERE key = ?"},
		{&w.isLoose, "SELECT 1 FROM loose WHERE key = ?"},
		{&w.sweepChunks, "DELETE FROM chunk WHERE body = ?1 AND n IN (SELECT n FROM chunk WHERE body = ?1 LIMIT ?2)"},
		{&w.sweepMessages, "DELETE FROM message WHERE key = ? AND holder IN (SELECT holder FROM dropped)"},
		{&w.sweepRules, "DELETE FROM rule WHERE subscription = ?1 AND folded IN (SELECT folded FROM rule WHERE subscription = ?1 LIMIT ?2)"},
		{&w.sweepSessions, "DELETE FROM session WHERE holder = ?1 AND id IN (SELECT id FROM session WHERE holder = ?1 LIMIT ?2)"},
		{&w.sweepSeen, "DELETE FROM seen WHERE holder = ?1 AND n IN (SELECT n FROM seen WHERE holder = ?1 LIMIT ?2)"},
		{&w.sweepDropped, "DELETE FROM dropped WHERE holder = ?"},
		{&w.putHistory, putHistory},
		{&w.addToHistorySize, addToHistorySize},
		{&w.dropEarly, dropEarly},
		{&w.dropOldest, dropOldest},
	} {
		st, _, err := c.PrepareFlags(s.sql, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return nil, fmt.Errorf("prepare %q: %w", s.sql, err)
		}
		*s.st = st
	}
	c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		grew(pages)
		return nil
	})
	return w, nil
}

func (w *writer) close() error {
	var errs []error
	for _, st := range slices.Collect(w.c.Stmts()) { // Close takes it off the list
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, w.c.Close())...)
}

// An outcome says what became of a transaction that failed.
type outcome int

const (
	certain   outcome = iota // nothing of it was applied
	uncertain                // nobody knows
)

// transact runs change in a transaction; hard ones are durable afterwards.
func (w *writer) transact(hard bool, change func() error) (outcome, error) {
	if w.flushes != hard {
		if err := w.flush(hard); err != nil {
			return certain, err
		}
	}
	if err := w.begin.Exec(); err != nil {
		return certain, err
	}
	if err := change(); err != nil {
		return w.undo(err)
	}
	if err := w.commit.Exec(); err != nil {
		how, undone := w.undo(err)
		if !neverWritten(err) {
			how = uncertain
		}
		return how, undone
	}
	return certain, nil
}

// flush sets whether commits flush the log. It is not a prepared statement,
// because this one takes effect when it is prepared, not when it is run.
func (w *writer) flush(on bool) error {
	sql := "PRAGMA synchronous=NORMAL"
	if on {
		sql = "PRAGMA synchronous=FULL"
	}
	w.flushes = on
	return w.c.Exec(sql)
}

// undo rolls back after err, unless SQLite has done so already.
func (w *writer) undo(err error) (outcome, error) {
	if w.c.GetAutocommit() {
		return certain, err
	}
	if rb := w.rollback.Exec(); rb != nil {
		return uncertain, errors.Join(err, fmt.Errorf("rollback: %w", rb))
	}
	return certain, err
}

func (w *writer) run(st *sqlite3.Stmt, id int64) error {
	if err := st.BindInt64(1, id); err != nil {
		return err
	}
	return st.Exec()
}

// apply makes every change of b. Of the contents, the bodies of some were
// staged.
func (w *writer) apply(b *engine.Batch, staged map[engine.Key]bool) error {
	if b.Hard {
		r := into(w.putMeter)
		r.putMeter(engine.Meter{LastUsed: b.Now}) // the broker's own row
		if err := r.run(); err != nil {
			return err
		}
	}
	for i := range b.Messages {
		if err := w.message(&b.Messages[i]); err != nil {
			return err
		}
	}
	for _, c := range b.Contents {
		if err := w.content(c); err != nil {
			return err
		}
		if len(staged) > 0 && staged[c.Key] {
			if err := w.run(w.dropLoose, int64(c.Key)); err != nil {
				return err
			}
		}
	}
	for _, body := range b.Bodies {
		if err := w.body(body.Key, body.Bytes); err != nil {
			return err
		}
	}
	if err := w.applySeen(b); err != nil {
		return err
	}
	if err := w.applyDrops(b); err != nil {
		return err
	}
	return w.applyRare(b)
}

// applyRare is apply for what a busy broker seldom changes.
func (w *writer) applyRare(b *engine.Batch) error {
	for _, e := range b.Entities {
		r := into(w.putEntity)
		r.putEntity(e)
		if err := r.run(); err != nil {
			return err
		}
	}
	for _, v := range b.Rules {
		r := into(w.putRule)
		r.putRule(v)
		if err := r.run(); err != nil {
			return err
		}
	}
	for _, m := range b.Meters {
		r := into(w.putMeter)
		r.putMeter(m)
		if err := r.run(); err != nil {
			return err
		}
	}
	for i := range b.Sessions {
		if err := w.session(&b.Sessions[i]); err != nil {
			return err
		}
	}
	for _, id := range b.DropSessions {
		r := into(w.dropSession)
		r.putInt(int64(id.Holder))
		r.putName(id.ID)
		if err := r.run(); err != nil {
			return err
		}
	}
	for _, id := range b.DropRules {
		r := into(w.dropRule)
		r.putInt(int64(id.Subscription))
		r.putName(id.Name)
		if err := r.run(); err != nil {
			return err
		}
	}
	for _, id := range b.DropHolders {
		for _, st := range []*sqlite3.Stmt{w.dropEntity, w.dropMeter, w.putDropped} {
			if err := w.run(st, int64(id)); err != nil {
				return err
			}
		}
	}
	return w.applyKept(b)
}

// applyKept is apply for what is the namespace's own.
func (w *writer) applyKept(b *engine.Batch) error {
	for i := range b.Settings {
		if err := w.setting(&b.Settings[i]); err != nil {
			return err
		}
	}
	for _, key := range b.DropSettings {
		r := into(w.dropSetting)
		r.putName(key)
		if err := r.run(); err != nil {
			return err
		}
	}
	if b.Access != nil {
		r := into(w.putAccess)
		r.putBytes(record.Append(nil, *b.Access))
		return r.run()
	}
	return nil
}

func (w *writer) message(m *engine.Message) error {
	if m.Extra == nil {
		r := into(w.putPlain)
		r.putPlain(m)
		return r.run()
	}
	r := into(w.putExtra)
	r.putPlain(m)
	r.putExtra(m.Extra)
	return r.run()
}

func (w *writer) session(v *engine.Session) error {
	w.scratch = append(w.scratch[:0], v.State...)
	r := into(w.putSession)
	r.putInt(int64(v.Holder))
	r.putName(v.ID)
	r.putBytes(w.scratch)
	r.putSome(int64(v.ChangedAt))
	return r.run()
}

func (w *writer) setting(v *engine.Setting) error {
	w.scratch = append(w.scratch[:0], v.Value...)
	r := into(w.putSetting)
	r.putName(v.Key)
	r.putBytes(w.scratch)
	r.putSome(int64(v.ChangedAt))
	return r.run()
}

func (w *writer) content(c engine.StoredContent) error {
	w.scratch = append(w.scratch[:0], c.Content...)
	r := into(w.putContent)
	r.putInt(int64(c.Key))
	r.putBytes(w.scratch)
	return r.run()
}

// applyDrops forgets messages and contents. Those that went first in came
// first out: their keys are neighbours, and one statement deletes them all.
func (w *writer) applyDrops(b *engine.Batch) error {
	w.dropped = w.dropped[:0]
	for _, k := range b.DropMessages {
		w.dropped = append(w.dropped, int64(k))
	}
	for from, to := range runs(w.dropped) {
		if err := w.between(w.dropMessages, from, to); err != nil {
			return err
		}
	}
	w.dropped = w.dropped[:0]
	for _, c := range b.DropContents {
		w.dropped = append(w.dropped, int64(c.Key))
	}
	for from, to := range runs(w.dropped) {
		if err := w.between(w.dropContents, from, to); err != nil {
			return err
		}
	}
	w.dropped = w.dropped[:0]
	for _, c := range b.DropContents {
		if c.HasBody {
			w.dropped = append(w.dropped, int64(c.Key))
		}
	}
	for from, to := range runs(w.dropped) {
		if err := w.between(w.dropBodies, from, to); err != nil {
			return err
		}
		if w.c.Changes() == to-from+1 {
			continue
		}
		if err := w.dropLargeBodies(from, to); err != nil {
			return err
		}
	}
	return nil
}

// dropLargeBodies leaves those among the keys to the sweep.
func (w *writer) dropLargeBodies(from, to int64) error {
	for k := from; ; k++ {
		if err := w.run(w.dropLarge, k); err != nil {
			return err
		}
		if w.c.Changes() > 0 {
			w.loosened++
			if err := w.run(w.putLoose, k); err != nil {
				return err
			}
		}
		if k == to {
			return nil
		}
	}
}

func (w *writer) between(st *sqlite3.Stmt, from, to int64) error {
	r := into(st)
	r.putInt(from)
	r.putInt(to)
	return r.run()
}

// runs sorts ids and yields the first and last of each unbroken run in them.
func runs(ids []int64) iter.Seq2[int64, int64] {
	slices.Sort(ids)
	return func(yield func(int64, int64) bool) {
		for i := 0; i < len(ids); {
			from := i
			for i++; i < len(ids) && ids[i] == ids[i-1]+1; i++ {
			}
			if !yield(ids[from], ids[i-1]) {
				return
			}
		}
	}
}
