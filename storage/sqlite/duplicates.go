package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// The MessageIds that an entity remembers for duplicate detection are dropped from the lowest
// number on. A batch deletes the first of them; the rest of a long range is then marked
// outdated, which Load skips, and is deleted between commits.

const (
	putSeen = "INSERT OR REPLACE INTO seen (holder, n, at, digests, sum) VALUES (?,?,?,?,?)"
	getSeen = `SELECT s.holder, s.n, s.at, s.digests, s.sum FROM seen s LEFT JOIN outdated o ON o.holder = s.holder
		WHERE o.n IS NULL OR s.n > o.n ORDER BY s.holder, s.n`

	dropSeen    = "DELETE FROM seen WHERE holder = ?1 AND n IN (SELECT n FROM seen WHERE holder = ?1 AND n <= ?2 ORDER BY n LIMIT ?3)"
	putOutdated = "INSERT INTO outdated (holder, n, sum) VALUES (?1, ?2, mayfly_sum('outdated', ?1, ?2)) ON CONFLICT (holder) DO UPDATE SET n = max(n, excluded.n), sum = mayfly_sum('outdated', holder, max(n, excluded.n))"
	isOutdated  = "SELECT n FROM outdated WHERE holder = ? AND n >= ?"
)

// seenNumberToSQL converts a number of seen to a signed one of the same order, for SQLite.
func seenNumberToSQL(n uint64) int64 { return int64(n ^ 1<<63) }

func seenNumberFromSQL(n int64) uint64 { return uint64(n) ^ 1<<63 }

// applySeen applies the changes of b to the remembered MessageIds.
func (w *writer) applySeen(b *engine.Batch) error {
	for i := range b.Seen {
		if err := w.addSeen(&b.Seen[i]); err != nil {
			return err
		}
	}
	for _, through := range b.DropSeen {
		if err := w.markOutdated(int64(through.Subqueue), seenNumberToSQL(through.N)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) addSeen(v *engine.SeenIDs) error {
	if err := w.dropReusedNumber(int64(v.Subqueue), seenNumberToSQL(v.N)); err != nil {
		return err
	}
	w.scratch = w.scratch[:0]
	for i := range v.Digests {
		w.scratch = append(w.scratch, v.Digests[i][:]...)
	}
	r := w.into(w.putSeen, "seen")
	r.putInt(int64(v.Subqueue))
	r.putInt(seenNumberToSQL(v.N))
	r.putInt(int64(v.At))
	r.putBytes(w.scratch)
	return r.run()
}

// dropReusedNumber deletes an entity's outdated rows at once if the number n is among them: numbers
// have started again, and the new row is not outdated.
func (w *writer) dropReusedNumber(holder, n int64) error {
	var through int64
	found, err := one(w.isOutdated, func(st *sqlite3.Stmt) { through = st.ColumnInt64(0) }, holder, n)
	if err != nil || !found {
		return err
	}
	if err := w.dropSlice(holder, through, math.MaxInt64); err != nil {
		return err
	}
	return w.run(w.dropOutdated, holder)
}

func (w *writer) markOutdated(holder, through int64) error {
	if err := w.dropSlice(holder, through, sweptSeen); err != nil || w.c.Changes() < sweptSeen {
		return err
	}
	w.droppedLarge++
	return w.runRange(w.putOutdated, holder, through)
}

// dropSlice deletes an entity's rows of seen with numbers up to `through`, lowest first, and at
// most `most` of them.
func (w *writer) dropSlice(holder, through, most int64) error {
	r := into(w.dropSeen)
	r.putInt(holder)
	r.putInt(through)
	r.putInt(most)
	return r.run()
}

// sweepOutdated deletes the outdated rows that batches have left.
func (s *Store) sweepOutdated(ctx context.Context) error {
	holders, err := s.queryIDs(ctx, "SELECT holder FROM outdated")
	if err != nil {
		return err
	}
	for _, h := range holders {
		if err := s.slices(ctx, func(w *writer) (bool, error) {
			var through int64
			found, err := one(w.isOutdated, func(st *sqlite3.Stmt) { through = st.ColumnInt64(0) }, h, math.MinInt64)
			if err != nil || !found { // dropReusedNumber has deleted them
				return false, err
			}
			if err := w.dropSlice(h, through, sweptSeen); err != nil || w.c.Changes() > 0 {
				return true, err
			}
			return false, w.run(w.dropOutdated, h)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *row) seen() (engine.SeenIDs, error) {
	v := engine.SeenIDs{Subqueue: engine.SubqueueID(r.int()), N: seenNumberFromSQL(r.int()), At: engine.Instant(r.int())}
	b := r.bytes()
	const size = len(engine.Digest{})
	if len(b)%size != 0 {
		return v, fmt.Errorf("what was seen at %d as number %d: %d bytes are not a whole number of digests", v.Subqueue, v.N, len(b))
	}
	v.Digests = make([]engine.Digest, len(b)/size)
	for i := range v.Digests {
		v.Digests[i] = engine.Digest(b[i*size:])
	}
	return v, nil
}
