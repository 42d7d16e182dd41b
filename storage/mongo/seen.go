package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/record"
)

// What an entity has seen is many documents that never change and go from the
// first on. To put a tombstone in the place of each would be to write them all
// twice, and to read them all for an hour. So they are named by the commit that
// they came with, which makes a name that never comes again, and one document of
// forgotten says up to where they are gone. Whatever rises late is below that.

// A forgetting is a drop of what was seen: all that was committed before it with
// numbers up to n.
type forgetting struct {
	at version
	n  uint64
}

// forgettings are those of one holder. Of two, the later one has the lower
// number: others it makes superfluous. There are two where numbers began anew.
type forgettings []forgetting

// and is f after one more.
func (f forgettings) and(one forgetting) forgettings {
	return append(slices.DeleteFunc(slices.Clone(f), func(o forgetting) bool { return o.n <= one.n && o.at <= one.at }), one)
}

// cover tells whether what a commit has put under a number is gone.
func (f forgettings) cover(at version, n uint64) bool {
	return slices.ContainsFunc(f, func(o forgetting) bool { return at < o.at && n <= o.n })
}

// A seenChange is what a window has of a holder: first what goes, then what came
// and did not go, in the order of commits.
type seenChange struct {
	drops forgettings
	rows  []seenRow
}

type seenRow struct {
	at version
	v  engine.Seen
}

func (c *seenChange) drop(one forgetting) {
	c.drops = c.drops.and(one)
	c.rows = slices.DeleteFunc(c.rows, func(r seenRow) bool { return c.drops.cover(r.at, r.v.N) })
}

// see takes in what a commit has of what was seen.
func (w *window) see(at version, b *engine.Batch) {
	for _, d := range b.DropSeen {
		w.seenAt(d.Holder).drop(forgetting{at, d.N})
	}
	for _, v := range b.Seen {
		c := w.seenAt(v.Holder)
		c.rows = append(c.rows, seenRow{at, v})
	}
}

func (w *window) seenAt(h engine.HolderID) *seenChange {
	c := w.seen[h]
	if c == nil {
		c = &seenChange{}
		w.seen[h] = c
	}
	return c
}

// forgets are the holders of which something goes.
func (w *window) forgets() map[engine.HolderID]bool {
	all := map[engine.HolderID]bool{}
	for h, c := range w.seen {
		if len(c.drops) > 0 {
			all[h] = true
		}
	}
	return all
}

// seeAfter takes in what a later window has.
func (w *window) seeAfter(later *window) {
	for h, l := range later.seen {
		c := w.seenAt(h)
		for _, d := range l.drops {
			c.drop(d)
		}
		c.rows = append(c.rows, l.rows...)
	}
}

type seenDoc struct {
	Head   header     `bson:",inline"`
	Path   string     `bson:"path,omitempty"`
	Holder int64      `bson:"holder"`
	N      int64      `bson:"n"`
	At     *time.Time `bson:"at,omitempty"`
	IDs    int64      `bson:"messageIds"` // how many
	Exact  []byte     `bson:"exact"`
}

type forgottenDoc struct {
	Head    header    `bson:",inline"`
	Path    string    `bson:"path,omitempty"`
	Holder  int64     `bson:"holder"`
	Through int64     `bson:"through"`
	Drops   []dropDoc `bson:"drops"`
}

type dropDoc struct {
	V version `bson:"v"`
	N int64   `bson:"n"` // 64 bits without a sign
}

func (s *Store) forgottenDoc(h engine.HolderID, f forgettings) change {
	last := f[len(f)-1]
	id := s.names.holder(h)
	d := forgottenDoc{Head: header{id, last.at, string(s.names)}, Path: s.pathOf(h), Holder: int64(h), Through: int64(last.n)}
	for _, o := range f {
		d.Drops = append(d.Drops, dropDoc{o.at, int64(o.n)})
	}
	return change{id: id, version: int64(last.at), doc: marshal(d)}
}

func (d forgottenDoc) forgettings() (f forgettings) {
	for _, o := range d.Drops {
		f = append(f, forgetting{o.V, uint64(o.N)})
	}
	return f
}

// applySeen says what is gone before it puts what came. What is gone is deleted
// later: nobody is shown it any more.
func (s *Store) applySeen(ctx context.Context, w *window) error {
	var gone, came []change
	now := map[engine.HolderID]forgettings{}
	for h, c := range w.seen {
		path := s.pathOf(h)
		for _, r := range c.rows {
			id := s.names.seen(h, r.at, r.v.N)
			came = append(came, s.insertion(id, seenDoc{
				Head: header{id, r.at, string(s.names)}, Path: path, Holder: int64(h), N: int64(r.v.N), At: date(r.v.At),
				IDs: int64(len(r.v.Digests)), Exact: record.Append(nil, r.v),
			}))
		}
		if len(c.drops) == 0 || s.o.weaken.forgotten {
			continue
		}
		drops := s.forgotten[h]
		for _, d := range c.drops {
			drops = drops.and(d)
		}
		now[h] = drops
		gone = append(gone, s.forgottenDoc(h, drops))
	}
	if err := s.put(ctx, forgotten, gone); err != nil {
		return err
	}
	maps.Copy(s.forgotten, now)
	return s.put(ctx, seen, came)
}

// readForgotten learns what is gone, before anything is applied.
func (s *Store) readForgotten(ctx context.Context) error {
	return eachForgotten(ctx, s.s, s.names.all(), func(d forgottenDoc) error {
		s.forgotten[engine.HolderID(d.Holder)] = d.forgettings()
		return nil
	})
}

func eachForgotten(ctx context.Context, s server, r span, do func(forgottenDoc) error) error {
	for raw, err := range s.Range(ctx, forgotten, r) {
		if err != nil {
			return fmt.Errorf("forgotten: %w", err)
		}
		var d forgottenDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("forgotten: %w", err)
		}
		if err := do(d); err != nil {
			return err
		}
	}
	return nil
}

// outdated says that there is something to delete of these.
func (s *Store) outdated(all map[engine.HolderID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.forgets, all)
}

// sweepForgotten deletes what is gone. It is at the beginning of what there is of
// a holder, but for what rises late: that is met by the next load.
func (s *Store) sweepForgotten(ctx context.Context) error {
	s.mu.Lock()
	all := s.forgets
	s.forgets = map[engine.HolderID]bool{}
	s.mu.Unlock()
	for h := range all {
		if err := s.sweepSeen(ctx, h); err != nil {
			s.outdated(all) // for the next time
			return err
		}
	}
	return nil
}

func (s *Store) sweepSeen(ctx context.Context, h engine.HolderID) error {
	var drops forgettings
	if err := eachForgotten(ctx, s.s, span{from: s.names.holder(h), to: s.names.holder(h) + "\x00"}, func(d forgottenDoc) error {
		drops = d.forgettings()
		return nil
	}); err != nil {
		return err
	}
	r := within(s.names.holder(h))
	r.limit, r.fields = sweptOnce, []string{}
	for {
		var ids []string
		for raw, err := range s.s.Range(ctx, seen, r) {
			if err != nil {
				return fmt.Errorf("seen: %w", err)
			}
			id := textIn(raw, "_id")
			_, at, n, err := seenIn(id)
			if err != nil {
				return fmt.Errorf("seen: %w", err)
			}
			if !drops.cover(at, n) {
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
