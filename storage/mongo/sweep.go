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
	sweepPause = 20 * time.Millisecond // between two requests, for the requests of commits
	sweepEvery = 10 * time.Minute      // on servers without TTL indexes
)

// A garbage lists documents that are no longer needed.
type garbage struct {
	subqueues     []subqueue                 // of deleted entities
	messages      []string                   // _ids of messages whose subqueue no entity claims
	rules         []string                   // the same for rules
	unclaimed     map[engine.SubqueueID]bool // subqueues with sessions or MessageIds that no entity will ever claim
	seen          map[engine.SubqueueID]bool // entities with documents that forgotten covers
	foundContents keySet                     // contents that a load found; bodies of others are deleted; empty if not from a load
}

// sweep deletes documents that are no longer needed, up to a thousand at a time, until the store
// ends. It may be interrupted at any time: the next open finds the remaining documents.
func (s *Store) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	first := make(chan struct{}, 1)
	first <- struct{}{}
	for {
		var err error
		select {
		case <-s.lifetime.Done():
			return
		case <-first:
			if err = s.waitForNoReaders(s.lifetime); err == nil {
				err = s.sweepJournal(s.lifetime)
			}
		case <-s.toSweep:
			if err = s.sweepLarge(s.lifetime); err == nil {
				err = s.sweepDroppedSeen(s.lifetime)
			}
		case <-tick.C:
			err = s.sweepTombstones(s.lifetime)
		case found := <-s.garbage:
			if err = s.waitForNoReaders(s.lifetime); err == nil {
				err = s.sweepGarbage(s.lifetime, found)
			}
		}
		if err != nil && s.lifetime.Err() == nil {
			s.log.Warn("unused documents were not deleted; retrying when the store is opened next", "namespace", s.names, "err", err)
		}
	}
}

// waitForNoReaders waits until there is no reader of the namespace. A reader that began under
// the former owner may need documents that no record refers to any more.
func (s *Store) waitForNoReaders(ctx context.Context) error {
	for s.hasReaders.Load() {
		if err := pause(ctx, s.lease.heartbeatInterval()); err != nil {
			return err
		}
	}
	return nil
}

// sweepSlices deletes those documents of a range for which unwanted returns true, or all of them
// if unwanted is nil. It reads sweptOnce documents at a time and pauses in between.
func (s *Store) sweepSlices(ctx context.Context, in collection, r idRange, unwanted func(bson.Raw) bool) error {
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

// sweepJournal deletes applied commits of earlier epochs, with their parts, that a trim missed or
// a late insert brought back. Fences stay.
func (s *Store) sweepJournal(ctx context.Context) error {
	mark, err := s.readApplied(ctx)
	if err != nil || mark.V == 0 {
		return err
	}
	r := s.names.all()
	r.to, r.fields = s.names.entry(mark.V), []string{"fence"}
	if err := s.sweepSlices(ctx, journal, r, func(raw bson.Raw) bool {
		return !isFence(raw) && s.ofEarlierEpoch(raw)
	}); err != nil {
		return err
	}
	r = s.names.all()
	r.fields = []string{"gone"}
	r.to = s.names.entry(mark.V)
	return s.sweepSlices(ctx, parts, r, s.ofEarlierEpoch)
}

// ofEarlierEpoch reports whether a document of journal or parts is of an earlier epoch.
func (s *Store) ofEarlierEpoch(raw bson.Raw) bool {
	epoch, err := parseNumber(textIn(raw, "_id"), 0)
	return err == nil && epoch < s.epoch
}

// sweepTombstones deletes tombstones whose purgeAt has passed. It does not delete them by _id,
// because a rule, a session or a setting may be created again under the same _id meanwhile.
func (s *Store) sweepTombstones(ctx context.Context) error {
	s.mu.Lock()
	now := s.waiting.now
	s.mu.Unlock()
	for _, in := range []collection{messages, entities, rules, meters, sessions, namespaceSettings} {
		if !s.Owned() {
			return s.endReason()
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

func (s *Store) sweepGarbage(ctx context.Context, found garbage) error {
	for _, p := range found.subqueues {
		r := s.names.all()
		r.match, r.fields = bson.D{{Key: "ns", Value: string(s.names)}, {Key: "path", Value: text(string(p.path))}, {Key: "holder", Value: int64(p.id)}}, []string{"gone"}
		if err := s.sweepSlices(ctx, messages, r, nil); err != nil {
			return err
		}
		if err := s.sweepSubqueue(ctx, p.id, rules, sessions, seen); err != nil {
			return err
		}
	}
	for h := range found.unclaimed {
		if err := s.sweepSubqueue(ctx, h, sessions, seen); err != nil {
			return err
		}
	}
	for h := range found.seen {
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
	if found.foundContents.words == nil {
		return nil
	}
	r := s.names.all()
	r.fields = []string{"gone"}
	if err := s.sweepSlices(ctx, bodies, r, func(raw bson.Raw) bool {
		k, err := parseKey(textIn(raw, "_id"))
		s.mu.Lock()
		defer s.mu.Unlock()
		return err == nil && s.orphan(k, &found.foundContents)
	}); err != nil {
		return err
	}
	return s.sweepOrphans(ctx, &found.foundContents)
}

// sweepSubqueue deletes the documents of a deleted subqueue in the collections `from`, and its
// document in the collection forgotten.
func (s *Store) sweepSubqueue(ctx context.Context, h engine.SubqueueID, from ...collection) error {
	for _, in := range from {
		r := within(s.names.subqueue(h))
		r.fields = []string{"gone"}
		if err := s.sweepSlices(ctx, in, r, nil); err != nil {
			return err
		}
	}
	return s.delete(ctx, seenDropsColl, []string{s.names.subqueue(h)})
}

// orphan reports whether the body k is of an earlier epoch and belongs to no content, neither to
// one in met, which the load found, nor to a later one. It is called with mu held.
func (s *Store) orphan(k engine.Key, met *keySet) bool {
	if uint64(k)>>40 >= s.epoch || met.has(k) || s.storedContents.has(k) || s.staged[k] {
		return false
	}
	_, coming := s.waiting.contents[k]
	return !coming
}

// sweepOrphans deletes large bodies that no content refers to, and chunks that belong to no
// body: their server died while they were being staged.
func (s *Store) sweepOrphans(ctx context.Context, met *keySet) error {
	s.mu.Lock()
	for _, k := range slices.Sorted(maps.Keys(s.large)) {
		if s.orphan(k, met) {
			s.bodiesToDelete = append(s.bodiesToDelete, s.large[k])
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
		k, err := parseKey(textIn(raw, "_id"))
		s.mu.Lock()
		defer s.mu.Unlock()
		_, there := s.large[k]
		return err == nil && !there && s.bodyReaders[k] == 0 && s.orphan(k, met)
	})
}

// sweepLarge deletes large bodies that were dropped and are not being read.
func (s *Store) sweepLarge(ctx context.Context) error {
	s.mu.Lock()
	all := s.bodiesToDelete
	s.bodiesToDelete = nil
	s.mu.Unlock()
	for i, l := range all {
		if err := s.sweepBody(ctx, l); err != nil {
			s.mu.Lock()
			s.bodiesToDelete = append(s.bodiesToDelete, all[i:]...)
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

func (s *Store) sweepBody(ctx context.Context, l largeDoc) error {
	k, err := parseKey(l.ID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.bodyReaders[k] > 0 { // when its last reader is closed, sweep runs again
		s.bodiesToDelete = append(s.bodiesToDelete, l)
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
