package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

const (
	sweptOnce  = 1_000
	sweepPause = 20 * time.Millisecond // left to others between two slices
	sweepEvery = 10 * time.Minute      // what a server without TTL indexes leaves
)

// A sweeping is what somebody found that nobody needs.
type sweeping struct {
	places   []place                  // of deleted entities
	messages []string                 // _ids; nobody claims their holders
	rules    []string                 // likewise
	holders  map[engine.HolderID]bool // that nobody will ever claim, with sessions or what was seen
	outdated map[engine.HolderID]bool // that have what is forgotten
	contents keyset                   // what a load met, if it did: bodies of others go
}

// sweep deletes what nobody needs, in slices, until the store ends. Nothing
// depends on it: what it has not come to, the next open finds.
func (s *Store) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	first := make(chan struct{}, 1)
	first <- struct{}{}
	for {
		var err error
		select {
		case <-s.life.Done():
			return
		case <-first:
			if err = s.unseen(s.life); err == nil {
				err = s.sweepJournal(s.life)
			}
		case <-s.toSweep:
			if err = s.sweepLarge(s.life); err == nil {
				err = s.sweepForgotten(s.life)
			}
		case <-tick.C:
			err = s.sweepTombstones(s.life)
		case found := <-s.garbage:
			if err = s.unseen(s.life); err == nil {
				err = s.sweepFound(s.life, found)
			}
		}
		if err != nil && s.life.Err() == nil {
			s.log.Warn("What nobody needs was not swept; it goes after the next open.", "namespace", s.names, "err", err)
		}
	}
}

// unseen waits until nobody looks at the namespace. Who began to under the former
// owner may need what nobody else does.
func (s *Store) unseen(ctx context.Context) error {
	for s.looked.Load() {
		if err := pause(ctx, s.lease.beatEvery()); err != nil {
			return err
		}
	}
	return nil
}

// sweepSlices deletes the documents of a span that unwanted picks.
func (s *Store) sweepSlices(ctx context.Context, in collection, r span, unwanted func(bson.Raw) bool) error {
	r.limit = sweptOnce
	for {
		var ids []string
		read, last := 0, ""
		for raw, err := range s.s.Range(ctx, in, r) {
			if err != nil {
				return fmt.Errorf("%s: %w", in, err)
			}
			read++
			last = textIn(raw, "_id")
			if unwanted == nil || unwanted(raw) {
				ids = append(ids, last)
			}
		}
		if err := s.delete(ctx, in, ids); err != nil {
			return err
		}
		if read < sweptOnce {
			return nil
		}
		r.from = last + "\x00"
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
}

// sweepJournal deletes what a trim that came too early, or an insert that came
// too late, has left before the mark (step 11). Fences stay.
func (s *Store) sweepJournal(ctx context.Context) error {
	mark, err := s.readMark(ctx)
	if err != nil || mark.V == 0 {
		return err
	}
	r := s.names.all()
	r.to, r.fields = s.names.entry(mark.V), []string{"fence"}
	if err := s.sweepSlices(ctx, journal, r, func(raw bson.Raw) bool {
		return !isFence(raw) && s.former(raw)
	}); err != nil {
		return err
	}
	r = s.names.all()
	r.fields = []string{"gone"}
	r.to = s.names.entry(mark.V)
	return s.sweepSlices(ctx, parts, r, s.former)
}

// former tells whether a document is of an earlier epoch.
func (s *Store) former(raw bson.Raw) bool {
	epoch, err := numberIn(textIn(raw, "_id"), 0)
	return err == nil && epoch < s.epoch
}

// sweepTombstones deletes tombstones whose time is over. A rule, a session or a setting can
// come again under its name: that is why they are not deleted by name.
func (s *Store) sweepTombstones(ctx context.Context) error {
	s.mu.Lock()
	now := s.waiting.now
	s.mu.Unlock()
	for _, in := range []collection{messages, entities, rules, meters, sessions, kept} {
		if !s.Owned() {
			return s.over()
		}
		if err := s.s.Purge(ctx, in, s.names.all(), now.Time()); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) sweepFound(ctx context.Context, found sweeping) error {
	for _, p := range found.places {
		r := s.names.all()
		r.match, r.fields = bson.D{{Key: "ns", Value: string(s.names)}, {Key: "path", Value: text(string(p.path))}, {Key: "holder", Value: int64(p.id)}}, []string{"gone"}
		if err := s.sweepSlices(ctx, messages, r, nil); err != nil {
			return err
		}
		if err := s.sweepHolder(ctx, p.id, rules, sessions, seen); err != nil {
			return err
		}
	}
	for h := range found.holders {
		if err := s.sweepHolder(ctx, h, sessions, seen); err != nil {
			return err
		}
	}
	for h := range found.outdated {
		if err := s.sweepSeen(ctx, h); err != nil {
			return err
		}
	}
	for _, gone := range []struct {
		from collection
		ids  []string
	}{{messages, found.messages}, {rules, found.rules}} {
		if err := s.delete(ctx, gone.from, gone.ids); err != nil {
			return err
		}
	}
	if found.contents.words == nil {
		return nil
	}
	r := s.names.all()
	r.fields = []string{"gone"}
	if err := s.sweepSlices(ctx, bodies, r, func(raw bson.Raw) bool {
		k, err := keyIn(textIn(raw, "_id"))
		s.mu.Lock()
		defer s.mu.Unlock()
		return err == nil && s.orphan(k, &found.contents)
	}); err != nil {
		return err
	}
	return s.sweepOrphans(ctx, &found.contents)
}

// sweepHolder deletes what is of a holder that is no more.
func (s *Store) sweepHolder(ctx context.Context, h engine.HolderID, from ...collection) error {
	for _, in := range from {
		r := within(s.names.holder(h))
		r.fields = []string{"gone"}
		if err := s.sweepSlices(ctx, in, r, nil); err != nil {
			return err
		}
	}
	return s.delete(ctx, forgotten, []string{s.names.holder(h)})
}

// orphan tells whether a body is of an earlier epoch and of no content, neither
// of one that was met nor of one that came since. It is called with mu held.
func (s *Store) orphan(k engine.Key, met *keyset) bool {
	if uint64(k)>>40 >= s.epoch || met.has(k) || s.kept.has(k) || s.staged[k] {
		return false
	}
	_, coming := s.waiting.contents[k]
	return !coming
}

// sweepOrphans deletes large bodies that no content refers to, and chunks that
// belong to none: somebody died while they were staged.
func (s *Store) sweepOrphans(ctx context.Context, met *keyset) error {
	s.mu.Lock()
	for _, k := range slices.Sorted(maps.Keys(s.large)) {
		if s.orphan(k, met) {
			s.unwanted = append(s.unwanted, s.large[k])
			delete(s.large, k)
		}
	}
	s.mu.Unlock()
	if err := s.sweepLarge(ctx); err != nil {
		return err
	}
	r := s.names.all()
	r.fields = []string{"gone"}
	return s.sweepSlices(ctx, chunks, r, func(raw bson.Raw) bool {
		k, err := keyIn(textIn(raw, "_id"))
		s.mu.Lock()
		defer s.mu.Unlock()
		_, there := s.large[k]
		return err == nil && !there && s.reading[k] == 0 && s.orphan(k, met)
	})
}

// sweepLarge deletes large bodies that were dropped and that nobody reads.
func (s *Store) sweepLarge(ctx context.Context) error {
	s.mu.Lock()
	all := s.unwanted
	s.unwanted = nil
	s.mu.Unlock()
	for i, l := range all {
		if err := s.sweepOne(ctx, l); err != nil {
			s.mu.Lock()
			s.unwanted = append(s.unwanted, all[i:]...)
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

func (s *Store) sweepOne(ctx context.Context, l largeDoc) error {
	k, err := keyIn(l.ID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.reading[k] > 0 { // its last reader wakes us
		s.unwanted = append(s.unwanted, l)
		s.mu.Unlock()
		return nil
	}
	_, again := s.large[k] // another body under the same key
	s.mu.Unlock()
	if !again {
		if err := s.delete(ctx, large, []string{l.ID}); err != nil {
			return err
		}
	}
	var ids []string
	for i := range l.Chunks {
		ids = append(ids, s.names.chunk(k, l.Attempt, i))
	}
	return s.delete(ctx, chunks, ids)
}
