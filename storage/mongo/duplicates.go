package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/codec"
)

// The MessageIds that an entity remembers are in many documents that never change and are
// dropped oldest first. Replacing each by a tombstone would write them all twice, and loads
// would read the tombstones for an hour. Instead, the documents are named after their commit,
// so that no name is used twice, and one document per entity in forgotten records up to where
// they are dropped. It also covers a document that a late write brings back.

// A seenDrop drops MessageIds: all that were committed before it with numbers up to n.
type seenDrop struct {
	at version
	n  uint64
}

// seenDrops are the drops of one entity, by time. A drop that is not lower than an earlier one
// replaces it, so there are several only if numbers have started again from a lower one.
type seenDrops []seenDrop

// with returns a copy of f with the drop `one` added, and without the drops that it replaces.
func (f seenDrops) with(one seenDrop) seenDrops {
	return append(slices.DeleteFunc(slices.Clone(f), func(o seenDrop) bool { return o.n <= one.n && o.at <= one.at }), one)
}

// covers reports whether the MessageIds are dropped that the commit with the version `at` stored
// under number n.
func (f seenDrops) covers(at version, n uint64) bool {
	return slices.ContainsFunc(f, func(o seenDrop) bool { return at < o.at && n <= o.n })
}

// A seenChange holds a window's changes of one entity's MessageIds: the drops, and the rows
// that were added and not dropped, in the order of commits.
type seenChange struct {
	drops seenDrops
	added []seenRow
}

type seenRow struct {
	at version
	v  engine.SeenIDs
}

func (c *seenChange) addDrop(one seenDrop) {
	c.drops = c.drops.with(one)
	c.added = slices.DeleteFunc(c.added, func(r seenRow) bool { return c.drops.covers(r.at, r.v.N) })
}

// addSeen adds to w the changes that the commit b, with the version `at`, makes to the remembered
// MessageIds.
func (w *window) addSeen(at version, b *engine.Batch) {
	for _, d := range b.DropSeen {
		w.seenOf(d.Subqueue).addDrop(seenDrop{at, d.N})
	}
	for _, v := range b.Seen {
		c := w.seenOf(v.Subqueue)
		c.added = append(c.added, seenRow{at, v})
	}
}

func (w *window) seenOf(h engine.SubqueueID) *seenChange {
	c := w.seen[h]
	if c == nil {
		c = &seenChange{}
		w.seen[h] = c
	}
	return c
}

// entitiesWithSeenDrops returns the entities whose MessageIds the window drops, in part or all.
func (w *window) entitiesWithSeenDrops() map[engine.SubqueueID]bool {
	all := map[engine.SubqueueID]bool{}
	for h, c := range w.seen {
		if len(c.drops) > 0 {
			all[h] = true
		}
	}
	return all
}

// addSeenOf adds the changes of a later window.
func (w *window) addSeenOf(later *window) {
	for h, l := range later.seen {
		c := w.seenOf(h)
		for _, d := range l.drops {
			c.addDrop(d)
		}
		c.added = append(c.added, l.added...)
	}
}

type seenDoc struct {
	Head   header     `bson:",inline"`
	Path   string     `bson:"path,omitempty"`
	Holder int64      `bson:"holder"`
	N      int64      `bson:"n"`
	At     *time.Time `bson:"at,omitempty"`
	IDs    int64      `bson:"messageIds"` // number of MessageIds
	Exact  []byte     `bson:"exact"`
}

type seenDropsDoc struct {
	Head    header    `bson:",inline"`
	Path    string    `bson:"path,omitempty"`
	Holder  int64     `bson:"holder"`
	Through int64     `bson:"through"`
	Drops   []dropDoc `bson:"drops"`
}

type dropDoc struct {
	V version `bson:"v"`
	N int64   `bson:"n"` // an unsigned 64-bit number
}

func (s *Store) forgottenDoc(h engine.SubqueueID, f seenDrops) change {
	last := f[len(f)-1]
	id := s.names.subqueue(h)
	d := seenDropsDoc{Head: header{id, last.at, string(s.names)}, Path: s.pathOf(h), Holder: int64(h), Through: int64(last.n)}
	for _, o := range f {
		d.Drops = append(d.Drops, dropDoc{o.at, int64(o.n)})
	}
	return change{id: id, version: int64(last.at), doc: marshal(d)}
}

func (d seenDropsDoc) seenDrops() (f seenDrops) {
	for _, o := range d.Drops {
		f = append(f, seenDrop{o.V, uint64(o.N)})
	}
	return f
}

// applySeen records drops before it adds new rows. The documents of dropped rows are deleted
// later; they are no longer loaded.
func (s *Store) applySeen(ctx context.Context, w *window) error {
	var gone, came []change
	now := map[engine.SubqueueID]seenDrops{}
	for h, c := range w.seen {
		path := s.pathOf(h)
		for _, r := range c.added {
			id := s.names.seen(h, r.at, r.v.N)
			came = append(came, s.insertion(id, seenDoc{
				Head: header{id, r.at, string(s.names)}, Path: path, Holder: int64(h), N: int64(r.v.N), At: date(r.v.At),
				IDs: int64(len(r.v.Digests)), Exact: codec.Append(nil, r.v),
			}))
		}
		if len(c.drops) == 0 || s.o.weaken.forgotten {
			continue
		}
		drops := s.seenDrops[h]
		for _, d := range c.drops {
			drops = drops.with(d)
		}
		now[h] = drops
		gone = append(gone, s.forgottenDoc(h, drops))
	}
	if err := s.put(ctx, seenDropsColl, gone); err != nil {
		return err
	}
	maps.Copy(s.seenDrops, now)
	return s.put(ctx, seen, came)
}

// readSeenDrops reads which MessageIds are dropped, before the first window is applied.
func (s *Store) readSeenDrops(ctx context.Context) error {
	return eachForgotten(ctx, s.s, s.names.all(), func(d seenDropsDoc) error {
		s.seenDrops[engine.SubqueueID(d.Holder)] = d.seenDrops()
		return nil
	})
}

func eachForgotten(ctx context.Context, s server, r idRange, do func(seenDropsDoc) error) error {
	for raw, err := range s.Range(ctx, seenDropsColl, r) {
		if err != nil {
			return fmt.Errorf("forgotten: %w", err)
		}
		var d seenDropsDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("forgotten: %w", err)
		}
		if err := do(d); err != nil {
			return err
		}
	}
	return nil
}

// addDroppedSeen records that seen has documents of these entities to delete.
func (s *Store) addDroppedSeen(all map[engine.SubqueueID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.droppedSeen, all)
}

// sweepDroppedSeen deletes documents whose MessageIds are dropped. It stops at an entity's
// first document that is not dropped. A late write may bring a document back behind it; the
// next load finds that one.
func (s *Store) sweepDroppedSeen(ctx context.Context) error {
	s.mu.Lock()
	all := s.droppedSeen
	s.droppedSeen = map[engine.SubqueueID]bool{}
	s.mu.Unlock()
	for h := range all {
		if err := s.sweepSeen(ctx, h); err != nil {
			s.addDroppedSeen(all) // retried with the next sweep
			return err
		}
	}
	return nil
}

func (s *Store) sweepSeen(ctx context.Context, h engine.SubqueueID) error {
	var drops seenDrops
	if err := eachForgotten(ctx, s.s, idRange{from: s.names.subqueue(h), to: s.names.subqueue(h) + "\x00"}, func(d seenDropsDoc) error {
		drops = d.seenDrops()
		return nil
	}); err != nil {
		return err
	}
	r := within(s.names.subqueue(h))
	r.limit, r.fields = sweptOnce, []string{}
	for {
		var ids []string
		for raw, err := range s.s.Range(ctx, seen, r) {
			if err != nil {
				return fmt.Errorf("seen: %w", err)
			}
			id := textIn(raw, "_id")
			_, at, n, err := parseSeenID(id)
			if err != nil {
				return fmt.Errorf("seen: %w", err)
			}
			if !drops.covers(at, n) {
				break
			}
			ids = append(ids, id)
		}
		if err := s.delete(ctx, seen, ids); err != nil || len(ids) < sweptOnce {
			return err
		}
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
}
