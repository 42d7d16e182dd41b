package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/codec"
)

// A writer is the only connection that changes the file, with its statements. It is not safe
// for concurrent use.
type writer struct {
	c        *sqlite3.Conn
	flushing bool     // every commit flushes the log: synchronous is FULL
	sum      checksum // of the row being written
	scratch  []byte   // converts strings to bytes
	dropped  []int64  // keys to delete, reused by applyDrops

	droppedLarge int // large bodies and long ranges of seen that batches have dropped, since open

	begin, commit, rollback, getEpoch *sqlite3.Stmt

	putEntity, putRule, putMeter, putPlain, putExtra, putContent *sqlite3.Stmt
	putBody, putLarge, putChunk, putUnreferenced, putDropped     *sqlite3.Stmt
	putSession, putSeen, putOutdated, putAccess, putSetting      *sqlite3.Stmt

	dropEntity, dropRule, dropMeter, dropSession, dropSetting *sqlite3.Stmt
	dropSeen, isOutdated, dropOutdated                        *sqlite3.Stmt
	dropMessages, dropContents, dropBodies                    *sqlite3.Stmt // by a range of keys
	dropLarge, dropUnreferenced, isUnreferenced               *sqlite3.Stmt
	sweepChunks, sweepMessages, sweepRules, sweepDropped      *sqlite3.Stmt
	sweepSessions, sweepSeen                                  *sqlite3.Stmt

	putHistory, addToHistorySize, deleteBefore, dropOldest *sqlite3.Stmt
}

// newWriter takes over c. After each commit it calls grew with the length of the log in pages.
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
		{&w.getEpoch, "SELECT epoch FROM store"},
		{&w.putEntity, putEntity()},
		{&w.putRule, putRule},
		{&w.putMeter, putMeter},
		{&w.putPlain, putPlain},
		{&w.putExtra, putExtra},
		{&w.putContent, putContent},
		{&w.putBody, "INSERT OR REPLACE INTO body (key, bytes, sum) VALUES (?,?,?)"},
		{&w.putLarge, "INSERT OR REPLACE INTO large (key, size, sum) VALUES (?,?,?)"},
		{&w.putChunk, "INSERT OR REPLACE INTO chunk (body, n, bytes, sum) VALUES (?,?,?,?)"},
		{&w.putUnreferenced, "INSERT OR REPLACE INTO loose (key, sum) VALUES (?1, mayfly_sum('loose', ?1))"},
		{&w.putDropped, "INSERT OR REPLACE INTO dropped (holder, sum) VALUES (?1, mayfly_sum('dropped', ?1))"},
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
		{&w.dropUnreferenced, "DELETE FROM loose WHERE key = ?"},
		{&w.isUnreferenced, "SELECT 1 FROM loose WHERE key = ?"},
		{&w.sweepChunks, "DELETE FROM chunk WHERE body = ?1 AND n IN (SELECT n FROM chunk WHERE body = ?1 LIMIT ?2)"},
		{&w.sweepMessages, "DELETE FROM message WHERE key = ? AND holder IN (SELECT holder FROM dropped)"},
		{&w.sweepRules, "DELETE FROM rule WHERE subscription = ?1 AND folded IN (SELECT folded FROM rule WHERE subscription = ?1 LIMIT ?2)"},
		{&w.sweepSessions, "DELETE FROM session WHERE holder = ?1 AND id IN (SELECT id FROM session WHERE holder = ?1 LIMIT ?2)"},
		{&w.sweepSeen, "DELETE FROM seen WHERE holder = ?1 AND n IN (SELECT n FROM seen WHERE holder = ?1 LIMIT ?2)"},
		{&w.sweepDropped, "DELETE FROM dropped WHERE holder = ?"},
		{&w.putHistory, putHistory},
		{&w.addToHistorySize, addToHistorySize},
		{&w.deleteBefore, deleteBefore},
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

// An outcome is whether a failed transaction may have been applied.
type outcome int

const (
	notApplied   outcome = iota // nothing was applied
	maybeApplied                // it may or may not have been applied
)

// transact runs change in a transaction, which is durable afterwards if hard is set. The error
// wraps engine.ErrFenced if another server has opened the store since epoch.
func (w *writer) transact(hard bool, epoch uint64, change func() error) (outcome, error) {
	if w.flushing != hard {
		if err := w.flush(hard); err != nil {
			return notApplied, err
		}
	}
	if err := w.begin.Exec(); err != nil {
		return notApplied, err
	}
	if err := w.checkEpoch(epoch); err != nil {
		return w.undo(err)
	}
	if err := change(); err != nil {
		return w.undo(err)
	}
	if err := w.commit.Exec(); err != nil {
		how, undone := w.undo(err)
		if !certainlyNotWritten(err) {
			how = maybeApplied
		}
		return how, undone
	}
	return notApplied, nil
}

// checkEpoch returns an error that wraps engine.ErrFenced if another server has opened the store
// since epoch, in spite of the locks.
func (w *writer) checkEpoch(epoch uint64) error {
	var now int64
	if _, err := one(w.getEpoch, func(st *sqlite3.Stmt) { now = st.ColumnInt64(0) }); err != nil {
		return err
	}
	if uint64(now) != epoch {
		return fmt.Errorf("%w: another server has opened the store, for epoch %d; this one has epoch %d", engine.ErrFenced, now, epoch)
	}
	return nil
}

// flush sets whether commits flush the log. It does not use a prepared statement, because the
// pragma takes effect when it is prepared, not when it is run.
func (w *writer) flush(on bool) error {
	sql := "PRAGMA synchronous=NORMAL"
	if on {
		sql = "PRAGMA synchronous=FULL"
	}
	w.flushing = on
	return w.c.Exec(sql)
}

// undo rolls back after err, unless SQLite has done so already, and returns err. The outcome is
// maybeApplied if the rollback fails.
func (w *writer) undo(err error) (outcome, error) {
	if w.c.GetAutocommit() {
		return notApplied, err
	}
	if rb := w.rollback.Exec(); rb != nil {
		return maybeApplied, errors.Join(err, fmt.Errorf("rollback: %w", rb))
	}
	return notApplied, err
}

func (w *writer) run(st *sqlite3.Stmt, id int64) error {
	if err := st.BindInt64(1, id); err != nil {
		return err
	}
	return st.Exec()
}

// apply applies b, except its audit events. staged are the contents whose bodies were staged.
func (w *writer) apply(b *engine.Batch, staged map[engine.Key]bool) error {
	if b.Hard {
		r := w.into(w.putMeter, "meter")
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
			if err := w.run(w.dropUnreferenced, int64(c.Key)); err != nil {
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
	if err := w.quarantine(b.SetAside); err != nil { // before the drops, which may take the contents
		return err
	}
	if err := w.applyDrops(b); err != nil {
		return err
	}
	return w.applyDefinitions(b)
}

// applyDefinitions applies the records of b that seldom change in a busy broker: entities, rules,
// meters, sessions, dropped subqueues, settings and access rules.
func (w *writer) applyDefinitions(b *engine.Batch) error {
	for _, e := range b.Entities {
		r := w.into(w.putEntity, "entity")
		r.putEntity(e)
		if err := r.run(); err != nil {
			return err
		}
	}
	for _, v := range b.Rules {
		r := w.into(w.putRule, "rule")
		r.putRule(v)
		if err := r.run(); err != nil {
			return err
		}
	}
	for _, m := range b.Meters {
		r := w.into(w.putMeter, "meter")
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
		r.putInt(int64(id.Subqueue))
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
	for _, id := range b.DropSubqueues {
		for _, st := range []*sqlite3.Stmt{w.dropEntity, w.dropMeter, w.putDropped} {
			if err := w.run(st, int64(id)); err != nil {
				return err
			}
		}
	}
	return w.applySettings(b)
}

// applySettings applies the settings and access rules of b.
func (w *writer) applySettings(b *engine.Batch) error {
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
		r := w.into(w.putAccess, "access")
		r.putBytes(codec.Append(nil, *b.Access))
		if err := r.run(); err != nil {
			return err
		}
	}
	return nil
}

// quarantine moves damaged messages, as they are, to the table aside, with copies of their
// contents and bodies. It is rare, so it prepares its statement each time.
func (w *writer) quarantine(keys []engine.Key) (err error) {
	if len(keys) == 0 {
		return nil
	}
	var columns []string
	for name := range strings.SplitSeq(plainColumns+", "+extraColumns, ", ") {
		columns = append(columns, fmt.Sprintf("'%s', CASE typeof(m.%s) WHEN 'blob' THEN hex(m.%s) ELSE m.%s END", name, name, name, name))
	}
	copied, _, err := w.c.Prepare("INSERT OR REPLACE INTO aside SELECT m.key, json_object(" + strings.Join(columns, ", ") + `), c.packed, b.bytes
		FROM message m LEFT JOIN content c ON c.key = m.content LEFT JOIN body b ON b.key = m.content WHERE m.key = ?`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	for _, k := range keys {
		if err := w.run(copied, int64(k)); err != nil {
			return err // some failures end the transaction: a deletion after them would be committed on its own
		}
		if err := w.runRange(w.dropMessages, int64(k), int64(k)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) message(m *engine.Message) error {
	if m.Extra == nil {
		r := w.into(w.putPlain, "message")
		r.putPlain(m)
		return r.run()
	}
	r := w.into(w.putExtra, "message")
	r.putPlain(m)
	r.putExtra(m.Extra)
	return r.run()
}

func (w *writer) session(v *engine.SessionRecord) error {
	w.scratch = append(w.scratch[:0], v.State...)
	r := w.into(w.putSession, "session")
	r.putInt(int64(v.Subqueue))
	r.putName(v.ID)
	r.putBytes(w.scratch)
	r.putNonZero(int64(v.ChangedAt))
	return r.run()
}

func (w *writer) setting(v *engine.Setting) error {
	w.scratch = append(w.scratch[:0], v.Value...)
	r := w.into(w.putSetting, "setting")
	r.putName(v.Key)
	r.putBytes(w.scratch)
	r.putNonZero(int64(v.ChangedAt))
	return r.run()
}

func (w *writer) content(c engine.StoredContent) error {
	w.scratch = append(w.scratch[:0], c.Content...)
	r := w.into(w.putContent, "content")
	r.putInt(int64(c.Key))
	r.putBytes(w.scratch)
	return r.run()
}

// applyDrops deletes messages and contents. They are usually dropped in the order in which they
// were added, so most keys are consecutive, and one statement deletes a whole run.
func (w *writer) applyDrops(b *engine.Batch) error {
	w.dropped = w.dropped[:0]
	for _, k := range b.DropMessages {
		w.dropped = append(w.dropped, int64(k))
	}
	for from, to := range runs(w.dropped) {
		if err := w.runRange(w.dropMessages, from, to); err != nil {
			return err
		}
	}
	w.dropped = w.dropped[:0]
	for _, c := range b.DropContents {
		w.dropped = append(w.dropped, int64(c.Key))
	}
	for from, to := range runs(w.dropped) {
		if err := w.runRange(w.dropContents, from, to); err != nil {
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
		if err := w.runRange(w.dropBodies, from, to); err != nil {
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

// dropLargeBodies deletes the sizes of the large bodies with keys `from` to `to`, and marks these
// bodies as unreferenced, so that a sweep deletes their chunks.
func (w *writer) dropLargeBodies(from, to int64) error {
	for k := from; ; k++ {
		if err := w.run(w.dropLarge, k); err != nil {
			return err
		}
		if w.c.Changes() > 0 {
			w.droppedLarge++
			if err := w.run(w.putUnreferenced, k); err != nil {
				return err
			}
		}
		if k == to {
			return nil
		}
	}
}

func (w *writer) runRange(st *sqlite3.Stmt, from, to int64) error {
	r := into(st)
	r.putInt(from)
	r.putInt(to)
	return r.run()
}

// runs sorts ids and yields the first and last of each run of consecutive ids.
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
