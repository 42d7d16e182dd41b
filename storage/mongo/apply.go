package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

const (
	applyEvery   = time.Second
	applyBytes   = 8 << 20 // bytes of waiting commits from which on apply runs at once
	applyCommits = 2_000
	// Limits on the applied commits that stay in the journal, for readers of a namespace that
	// they do not own (OpenSnapshot).
	keptEntries = 1_000
	keptBytes   = 32 << 20
	trimmedOnce = 10_000 // documents in one delete
	// tombstoneRetention is how long the tombstone of a dropped record stays, so that no late write
	// brings the record back.
	tombstoneRetention = time.Hour
)

// apply brings committed windows into the collections, about a second behind, until the store
// ends.
func (s *Store) apply() {
	tick := time.NewTicker(applyEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.toApply:
		case <-s.lifetime.Done():
			return
		}
		err := s.applyOnce(s.lifetime)
		s.mu.Lock()
		s.applyErr = err
		s.mu.Unlock()
		if err != nil && s.lifetime.Err() == nil {
			s.log.Warn("committed records were not applied; retrying", "namespace", s.names, "err", err)
		}
	}
}

// drain waits until all committed windows are applied, at most for patience.
func (s *Store) drain(patience time.Duration) {
	ctx, cancel := context.WithTimeout(s.lifetime, patience)
	defer cancel()
	for {
		s.mu.Lock()
		idle := s.waiting.commits == 0 && s.applying == nil
		more := s.applied
		s.mu.Unlock()
		if idle {
			return
		}
		wake(s.toApply)
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// applyOnce applies one window. After an error the same window is applied again: applying it
// is idempotent.
func (s *Store) applyOnce(ctx context.Context) error {
	w := s.takeWindow()
	if w == nil {
		return nil
	}
	if err := s.applyWindow(ctx, w); err != nil {
		return err
	}
	s.appliedVersion = w.upTo
	s.mu.Lock()
	s.applying = nil
	s.unapplied.commits -= len(w.journal)
	for _, e := range w.journal {
		s.unapplied.bytes -= e.bytes
	}
	close(s.applied)
	s.applied = make(chan struct{})
	s.mu.Unlock()
	s.journal = append(s.journal, w.journal...)
	if forgets := w.entitiesWithSeenDrops(); len(forgets) > 0 {
		s.addDroppedSeen(forgets)
		wake(s.toSweep)
	}
	for _, p := range w.droppedSubqueues {
		delete(s.seenDrops, p.id)
	}
	if len(w.droppedSubqueues) > 0 {
		select {
		case s.garbage <- garbage{subqueues: w.droppedSubqueues}:
		case <-ctx.Done():
		default: // the next open sweeps them
		}
	}
	return s.trim(ctx)
}

// takeWindow returns the window to apply now, or nil if there is none.
func (s *Store) takeWindow() *window {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.applying != nil || s.waiting.upTo == 0 {
		return s.applying
	}
	s.applying, s.waiting = s.waiting, newWindow()
	s.waiting.now = s.applying.now
	for k, c := range s.applying.messages {
		if c.first = !c.gone && !(storedByApply{s}).message(k); c.first {
			s.applying.messages[k] = c
		}
		s.updateKeys(&s.storedMessages, k, c.gone)
	}
	for k, c := range s.applying.contents {
		s.updateKeys(&s.storedContents, k, c.gone)
	}
	return s.applying
}

func (s *Store) updateKeys(set *keySet, k engine.Key, gone bool) {
	if gone {
		set.remove(k)
		return
	}
	set.add(k)
}

// storedByApply reports which keys the collections may hold: those in windows that apply has
// taken, and all keys of other epochs.
type storedByApply struct{ s *Store }

func (v storedByApply) message(k engine.Key) bool {
	return v.s.ofOtherEpoch(k) || v.s.storedMessages.has(k)
}

func (v storedByApply) content(k engine.Key) bool {
	_, large := v.s.large[k]
	return large || v.s.ofOtherEpoch(k) || v.s.storedContents.has(k) || v.s.staged[k]
}

func (s *Store) ofOtherEpoch(k engine.Key) bool { return uint64(k)>>40 != s.epoch }

// allKeys reports that the collections may hold any key. It is for commits of former owners,
// because it is unknown how many of them were applied.
type allKeys struct{}

func (allKeys) message(engine.Key) bool { return true }
func (allKeys) content(engine.Key) bool { return true }

func (s *Store) applyWindow(ctx context.Context, w *window) error {
	steps := []func(context.Context, *window) error{
		s.applyDefinitions, s.applySeen, s.applyContents, s.applyMessages, s.applyDroppedContents, s.applyAudit, s.recordApplied,
	}
	for _, step := range steps {
		if !s.Owned() {
			return s.endReason()
		}
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// put applies changes in requests of up to a thousand, each with its own time limit. It returns
// an error once the store no longer owns the namespace.
func (s *Store) put(ctx context.Context, in collection, changes []change) error {
	const most = 1_000
	for len(changes) > 0 {
		n := min(most, len(changes))
		if !s.Owned() {
			return s.endReason()
		}
		if err := s.s.Apply(ctx, in, changes[:n]); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		changes = changes[n:]
	}
	return nil
}

func (s *Store) applyDefinitions(ctx context.Context, w *window) error {
	var docs [5][]change
	if c := w.access; c != nil {
		docs[0] = append(docs[0], s.changeOf(s.names.subqueue(noSubqueue), c.at, false, w.now, func() any { return s.accessDoc(*c) }))
	}
	for id, c := range w.entities {
		docs[0] = append(docs[0], s.changeOf(s.names.subqueue(id), c.at, c.gone, w.now, func() any { return s.entityDoc(c) }))
	}
	for id, c := range w.rules {
		docs[1] = append(docs[1], s.changeOf(s.names.rule(id), c.at, c.gone, w.now, func() any { return s.ruleDoc(id, c) }))
	}
	for id, c := range w.meters {
		docs[2] = append(docs[2], s.changeOf(s.names.subqueue(id), c.at, c.gone, w.now, func() any { return s.meterDoc(c) }))
	}
	for id, c := range w.sessions {
		docs[3] = append(docs[3], s.changeOf(s.names.session(id), c.at, c.gone, w.now, func() any { return s.sessionDoc(id, c) }))
	}
	for key, c := range w.settings {
		docs[4] = append(docs[4], s.changeOf(s.names.namespaceSetting(key), c.at, c.gone, w.now, func() any { return s.settingDoc(key, c) }))
	}
	for i, in := range []collection{entities, rules, meters, sessions, namespaceSettings} {
		if err := s.put(ctx, in, docs[i]); err != nil {
			return err
		}
	}
	for _, c := range w.entities {
		if !c.gone && c.e.Config.DeadLetteringOnMessageExpiration {
			// From now on the TTL index must not remove messages that expire here.
			r := s.names.all()
			r.match = bson.D{{Key: "ns", Value: string(s.names)}, {Key: "path", Value: text(string(c.e.Path))}, {Key: "holder", Value: int64(c.e.ID)}}
			if err := s.s.Clear(ctx, messages, r, "purgeAt"); err != nil {
				return fmt.Errorf("messages: %w", err)
			}
		}
	}
	return nil
}

func (s *Store) applyContents(ctx context.Context, w *window) error {
	var docs []change
	for k, c := range w.contents {
		if !c.gone {
			docs = append(docs, s.insertion(s.names.key(k), contentDoc{s.names.key(k), []byte(c.packed)}))
		}
	}
	if err := s.put(ctx, contents, docs); err != nil {
		return err
	}
	docs = docs[:0]
	for k, b := range w.bodies {
		if len(b) > smallBody {
			if err := s.storeLarge(ctx, k, b); err != nil {
				return err
			}
			continue
		}
		docs = append(docs, s.insertion(s.names.key(k), bodyDoc{s.names.key(k), b}))
	}
	return s.put(ctx, bodies, docs)
}

func (s *Store) applyMessages(ctx context.Context, w *window) error {
	docs := make([]change, 0, len(w.messages))
	for k, c := range w.messages {
		if !c.gone && c.content == "" {
			var err error
			if c.content, err = s.contentOf(ctx, w, c.m.Content); err != nil {
				return err
			}
		}
		doc := s.changeOf(s.names.key(k), c.version, c.gone, w.now, func() any { return s.messageDoc(c) })
		// No key is assigned twice, so if the document already exists, an earlier attempt
		// inserted it. Plain inserts are faster than guarded upserts.
		doc.insert = c.first
		docs = append(docs, doc)
	}
	return s.put(ctx, messages, docs)
}

// contentOf returns a content from the window or the collections, for a message that a former
// owner committed. It returns "" if neither has the content.
func (s *Store) contentOf(ctx context.Context, w *window, k engine.Key) (engine.Packed, error) {
	if c, ok := w.contents[k]; ok {
		return c.packed, nil
	}
	raw, err := s.s.Get(ctx, contents, s.names.key(k))
	if err != nil {
		return "", fmt.Errorf("contents: %w", err)
	}
	_, b, _ := raw.Lookup("packed").BinaryOK()
	return engine.Packed(b), nil
}

// applyDroppedContents deletes contents that no message refers to, with their bodies. While the
// namespace has readers, which may need them, it leaves them to the next window. Late writes may
// bring some back; no message will ever refer to them, and the next open sweeps them.
func (s *Store) applyDroppedContents(ctx context.Context, w *window) error {
	for _, k := range slices.Sorted(maps.Keys(w.contents)) {
		if c := w.contents[k]; c.gone {
			s.contentsToDelete = append(s.contentsToDelete, droppedContent{k, c.hasBody})
		}
	}
	s.mu.Lock()
	for _, c := range s.contentsToDelete {
		s.left[c.key] = true
	}
	s.mu.Unlock()
	if s.hasReaders.Load() { // later: a reader may need them
		return nil
	}
	if err := s.deleteContents(ctx, s.contentsToDelete); err != nil {
		return err
	}
	s.contentsToDelete = nil
	s.mu.Lock()
	clear(s.left)
	s.mu.Unlock()
	return nil
}

// A droppedContent is a content that no message refers to any more.
type droppedContent struct {
	key     engine.Key
	hasBody bool
}

func (s *Store) deleteContents(ctx context.Context, all []droppedContent) error {
	var ids, withBody []string
	var larger []largeDoc
	s.mu.Lock()
	for _, c := range all {
		k := c.key
		ids = append(ids, s.names.key(k))
		switch l, ok := s.large[k]; {
		case ok && s.bodyReaders[k] > 0:
			s.bodiesToDelete = append(s.bodiesToDelete, l)
			delete(s.large, k)
		case ok:
			larger = append(larger, l)
			delete(s.large, k)
		case c.hasBody:
			withBody = append(withBody, s.names.key(k))
		}
		delete(s.staged, k)
	}
	s.bodiesToDelete = append(s.bodiesToDelete, larger...) // kept until they are deleted, in case this attempt fails
	s.mu.Unlock()
	if err := s.delete(ctx, contents, ids); err != nil {
		return err
	}
	if err := s.delete(ctx, bodies, withBody); err != nil {
		return err
	}
	if len(larger) > 0 {
		wake(s.toSweep)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, from collection, ids []string) error {
	for len(ids) > 0 {
		n := min(trimmedOnce, len(ids))
		if !s.Owned() {
			return s.endReason()
		}
		if err := s.s.Delete(ctx, from, ids[:n]); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		ids = ids[n:]
	}
	return nil
}

func (s *Store) applyAudit(ctx context.Context, w *window) error {
	if len(w.audit) == 0 {
		return nil
	}
	return s.appendEvents(ctx, w.audit)
}

// recordApplied records that everything up to w is in the collections. A late write of an
// earlier mark has no effect.
func (s *Store) recordApplied(ctx context.Context, w *window) error {
	id := s.names.setting("applied")
	d := appliedDoc{ID: id, V: w.upTo, Epoch: w.upTo.epoch(), N: w.upTo.number(), Now: w.now, At: w.now.Time()}
	return s.put(ctx, settings, []change{{id: id, version: int64(w.upTo), doc: marshal(d)}})
}

// trim deletes old applied commits from the journal, many at a time. It keeps the latest ones, up
// to keptEntries and about keptBytes, for readers, and deletes nothing while the namespace has a
// reader. The newest commit always stays, so that its number is never reused. Fences stay too.
func (s *Store) trim(ctx context.Context) error {
	most := cmp.Or(s.o.keptEntries, keptEntries)
	bytes := int64(0)
	keep := 0
	for keep < len(s.journal) && keep < most && (keep == 0 || bytes < keptBytes) {
		bytes += s.journal[len(s.journal)-1-keep].bytes
		keep++
	}
	old := s.journal[:len(s.journal)-keep]
	if len(old) == 0 || s.hasReaders.Load() || len(old) < most/4 && bytes < keptBytes {
		return nil
	}
	var ids, withParts []string
	for _, e := range old {
		ids = append(ids, s.names.entry(e.at))
		for i := range e.parts {
			withParts = append(withParts, s.names.part(e.at, e.attempt, i))
		}
	}
	if err := errors.Join(s.delete(ctx, journal, ids), s.delete(ctx, parts, withParts)); err != nil {
		return err
	}
	s.journal = append([]entry(nil), s.journal[len(old):]...)
	return nil
}
