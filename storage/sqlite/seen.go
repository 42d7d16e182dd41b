package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// What an entity has seen goes from the lowest number on. A batch deletes a
// slice of it; what is left of a long row then is outdated, which nobody is
// shown any more, and goes beside the commits.

const (
	putSeen = "INSERT OR REPLACE INTO seen (holder, n, at, digests) VALUES (?,?,?,?)"
	getSeen = `SELECT s.holder, s.n, s.at, s.digests FROM seen s LEFT JOIN outdated o ON o.holder = s.holder
		WHERE o.n IS NULL OR s.n > o.n ORDER BY s.holder, s.n`

	dropSeen    = "DELETE FROM seen WHERE holder = ?1 AND n IN (SELECT n FROM seen WHERE holder = ?1 AND n <= ?2 ORDER BY n LIMIT ?3)"
	putOutdated = "INSERT INTO outdated (holder, n) VALUES (?,?) ON CONFLICT (holder) DO UPDATE SET n = max(n, excluded.n)"
	isOutdated  = "SELECT n FROM outdated WHERE holder = ? AND n >= ?"
)

// shifted is a number of what was seen as SQLite has it, with a sign and in the
// same order.
func shifted(n uint64) int64 { return int64(n ^ 1<<63) }

func unshifted(n int64) uint64 { return uint64(n) ^ 1<<63 }

// applySeen makes the changes of b to what was seen.
func (w *writer) applySeen(b *engine.Batch) error {
	for i := range b.Seen {
		if err := w.see(&b.Seen[i]); err != nil {
			return err
		}
	}
	for _, through := range b.DropSeen {
		if err := w.outdate(int64(through.Holder), shifted(through.N)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) see(v *engine.Seen) error {
	if err := w.begunAnew(int64(v.Holder), shifted(v.N)); err != nil {
		return err
	}
	w.scratch = w.scratch[:0]
	for i := range v.Digests {
		w.scratch = append(w.scratch, v.Digests[i][:]...)
	}
	r := into(w.putSeen)
	r.putInt(int64(v.Holder))
	r.putInt(shifted(v.N))
	r.putInt(int64(v.At))
	r.putBytes(w.scratch)
	return r.run()
}

// begunAnew makes way for a number that was given before, while those up to it
// are still on their way out: at once, for it is not outdated.
func (w *writer) begunAnew(holder, n int64) error {
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

func (w *writer) outdate(holder, through int64) error {
	if err := w.dropSlice(holder, through, sweptSeen); err != nil || w.c.Changes() < sweptSeen {
		return err
	}
	w.loosened++
	return w.between(w.putOutdated, holder, through)
}

// dropSlice deletes the first rows of a holder up to a number.
func (w *writer) dropSlice(holder, through, most int64) error {
	r := into(w.dropSeen)
	r.putInt(holder)
	r.putInt(through)
	r.putInt(most)
	return r.run()
}

// sweepOutdated deletes what batches have left of what they dropped.
func (s *Store) sweepOutdated(ctx context.Context) error {
	holders, err := s.identities(ctx, "SELECT holder FROM outdated")
	if err != nil {
		return err
	}
	for _, h := range holders {
		if err := s.slices(ctx, func(w *writer) (bool, error) {
			var through int64
			found, err := one(w.isOutdated, func(st *sqlite3.Stmt) { through = st.ColumnInt64(0) }, h, math.MinInt64)
			if err != nil || !found { // what begins anew has seen to it
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

func (r *row) seen() (engine.Seen, error) {
	v := engine.Seen{Holder: engine.HolderID(r.int()), N: unshifted(r.int()), At: engine.Instant(r.int())}
	b := r.bytes()
	const size = len(engine.Digest{})
	if len(b)%size != 0 {
		return v, fmt.Errorf("what was seen at %d as number %d: %d bytes are no digests", v.Holder, v.N, len(b))
	}
	v.Digests = make([]engine.Digest, len(b)/size)
	for i := range v.Digests {
		v.Digests[i] = engine.Digest(b[i*size:])
	}
	return v, nil
}
