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
	applyBytes   = 8 << 20 // sooner, with so much waiting
	applyCommits = 2_000
	// What stays in the journal after it was applied, for those who read a
	// namespace that they do not own (Look).
	keptEntries = 1_000
	keptBytes   = 32 << 20
	trimmedOnce = 10_000 // documents of one delete
	// tombstoneFor is how long after its end a message is remembered, so that no
	// write that is late brings it back.
	tombstoneFor = time.Hour
)

// apply brings what was committed into the collections (step 8), about a second
// behind, until the store ends.
func (s *Store) apply() {
	tick := time.NewTicker(applyEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.toApply:
		case <-s.life.Done():
			return
		}
		err := s.applyOnce(s.life)
		s.mu.Lock()
		s.stuck = err
		s.mu.Unlock()
		if err != nil && s.life.Err() == nil {
			s.log.Warn("What was committed was not applied; it is tried again.", "namespace", s.names, "err", err)
		}
	}
}

// drain applies what waits, if that does not take too long.
func (s *Store) drain(patience time.Duration) {
	ctx, cancel := context.WithTimeout(s.life, patience)
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

// applyOnce applies one window. After an error the same window is applied
// again: everything in it is good any number of times.
func (s *Store) applyOnce(ctx context.Context) error {
	w := s.take()
	if w == nil {
		return nil
	}
	if err := s.applyWindow(ctx, w); err != nil {
		return err
	}
	s.mark = w.upTo
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
	if forgets := w.forgets(); len(forgets) > 0 {
		s.outdated(forgets)
		wake(s.toSweep)
	}
	for _, p := range w.dropped {
		delete(s.forgotten, p.id)
	}
	if len(w.dropped) > 0 {
		select {
		case s.garbage <- sweeping{places: w.dropped}:
		case <-ctx.Done():
		default: // they go after the next open
		}
	}
	return s.trim(ctx)
}

// take is the window to apply now; nil if there is none.
func (s *Store) take() *window {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.applying != nil || s.waiting.upTo == 0 {
		return s.applying
	}
	s.applying, s.waiting = s.waiting, newWindow()
	s.waiting.now = s.applying.now
	for k, c := range s.applying.messages {
		if c.first = !c.gone && !(mayHold{s}).message(k); c.first {
			s.applying.messages[k] = c
		}
		s.notice(&s.handed, k, c.gone)
	}
	for k, c := range s.applying.contents {
		s.notice(&s.kept, k, c.gone)
	}
	return s.applying
}

func (s *Store) notice(set *keyset, k engine.Key, gone bool) {
	if gone {
		set.remove(k)
		return
	}
	set.add(k)
}

// mayHold tells of what the collections may hold: all that was handed over, and
// whatever is of another epoch.
type mayHold struct{ s *Store }

func (v mayHold) message(k engine.Key) bool { return v.s.foreign(k) || v.s.handed.has(k) }

func (v mayHold) content(k engine.Key) bool {
	_, large := v.s.large[k]
	return large || v.s.foreign(k) || v.s.kept.has(k) || v.s.staged[k]
}

func (s *Store) foreign(k engine.Key) bool { return uint64(k)>>40 != s.epoch }

// mayHoldAll is for commits of former owners, of which nobody knows how far they
// were applied.
type mayHoldAll struct{}

func (mayHoldAll) message(engine.Key) bool { return true }
func (mayHoldAll) content(engine.Key) bool { return true }

func (s *Store) applyWindow(ctx context.Context, w *window) error {
	steps := []func(context.Context, *window) error{
		s.applyRare, s.applySeen, s.applyContents, s.applyMessages, s.applyGone, s.applyAudit, s.applyMark,
	}
	for _, step := range steps {
		if !s.Owned() {
			return s.over()
		}
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// put makes changes, in requests that each have their time.
func (s *Store) put(ctx context.Context, in collection, changes []change) error {
	const most = 1_000
	for len(changes) > 0 {
		n := min(most, len(changes))
		if !s.Owned() {
			return s.over()
		}
		if err := s.s.Apply(ctx, in, changes[:n]); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		changes = changes[n:]
	}
	return nil
}

func (s *Store) applyRare(ctx context.Context, w *window) error {
	var docs [5][]change
	if c := w.access; c != nil {
		docs[0] = append(docs[0], s.changeOf(s.names.holder(noHolder), c.at, false, w.now, func() any { return s.accessDoc(*c) }))
	}
	for id, c := range w.entities {
		docs[0] = append(docs[0], s.changeOf(s.names.holder(id), c.at, c.gone, w.now, func() any { return s.entityDoc(c) }))
	}
	for id, c := range w.rules {
		docs[1] = append(docs[1], s.changeOf(s.names.rule(id), c.at, c.gone, w.now, func() any { return s.ruleDoc(id, c) }))
	}
	for id, c := range w.meters {
		docs[2] = append(docs[2], s.changeOf(s.names.holder(id), c.at, c.gone, w.now, func() any { return s.meterDoc(c) }))
	}
	for id, c := range w.sessions {
		docs[3] = append(docs[3], s.changeOf(s.names.session(id), c.at, c.gone, w.now, func() any { return s.sessionDoc(id, c) }))
	}
	for key, c := range w.settings {
		docs[4] = append(docs[4], s.changeOf(s.names.kept(key), c.at, c.gone, w.now, func() any { return s.settingDoc(key, c) }))
	}
	for i, in := range []collection{entities, rules, meters, sessions, kept} {
		if err := s.put(ctx, in, docs[i]); err != nil {
			return err
		}
	}
	for _, c := range w.entities {
		if !c.gone && c.e.Config.DeadLetteringOnMessageExpiration {
			// From now on the server must not remove what expires here.
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
			if err := s.keepLarge(ctx, k, b); err != nil {
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
		if !c.gone && c.written == "" {
			var err error
			if c.written, err = s.contentOf(ctx, w, c.m.Content); err != nil {
				return err
			}
		}
		doc := s.changeOf(s.names.key(k), c.at, c.gone, w.now, func() any { return s.messageDoc(c) })
		// A key is never given twice, so what is there of a first one is this
		// one, from an attempt before: plain inserts are quick.
		doc.insert = c.first
		docs = append(docs, doc)
	}
	return s.put(ctx, messages, docs)
}

// contentOf is what the sender wrote of a message that a former owner
// committed.
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

// applyGone deletes contents that nothing refers to, with their bodies. Late
// writes may bring some back; nothing will ever refer to them, and who opens
// the store next sweeps them.
func (s *Store) applyGone(ctx context.Context, w *window) error {
	for _, k := range slices.Sorted(maps.Keys(w.contents)) {
		if c := w.contents[k]; c.gone {
			s.leaving = append(s.leaving, leaving{k, c.hasBody})
		}
	}
	s.mu.Lock()
	for _, c := range s.leaving {
		s.left[c.key] = true
	}
	s.mu.Unlock()
	if s.looked.Load() { // later: a reader may need them
		return nil
	}
	if err := s.deleteGone(ctx, s.leaving); err != nil {
		return err
	}
	s.leaving = nil
	s.mu.Lock()
	clear(s.left)
	s.mu.Unlock()
	return nil
}

// A leaving content is one that nothing refers to any more.
type leaving struct {
	key     engine.Key
	hasBody bool
}

func (s *Store) deleteGone(ctx context.Context, all []leaving) error {
	var ids, withBody []string
	var larger []largeDoc
	s.mu.Lock()
	for _, c := range all {
		k := c.key
		ids = append(ids, s.names.key(k))
		switch l, ok := s.large[k]; {
		case ok && s.reading[k] > 0:
			s.unwanted = append(s.unwanted, l)
			delete(s.large, k)
		case ok:
			larger = append(larger, l)
			delete(s.large, k)
		case c.hasBody:
			withBody = append(withBody, s.names.key(k))
		}
		delete(s.staged, k)
	}
	s.unwanted = append(s.unwanted, larger...) // until they are deleted, for an attempt that fails
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
			return s.over()
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
	return s.remember(ctx, w.audit)
}

// applyMark says that everything up to w is in the collections. An earlier mark
// that comes late loses.
func (s *Store) applyMark(ctx context.Context, w *window) error {
	id := s.names.setting("applied")
	d := markDoc{ID: id, V: w.upTo, Epoch: w.upTo.epoch(), N: w.upTo.number(), Now: w.now, At: w.now.Time()}
	return s.put(ctx, settings, []change{{id: id, version: int64(w.upTo), doc: marshal(d)}})
}

// trim deletes what the journal holds beyond what is kept for readers (step 9).
// The newest commit always stays, so that its number is never free; so do
// fences.
func (s *Store) trim(ctx context.Context) error {
	most := cmp.Or(s.o.kept, keptEntries)
	bytes := int64(0)
	keep := 0
	for keep < len(s.journal) && keep < most && (keep == 0 || bytes < keptBytes) {
		bytes += s.journal[len(s.journal)-1-keep].bytes
		keep++
	}
	old := s.journal[:len(s.journal)-keep]
	if len(old) == 0 || s.looked.Load() || len(old) < most/4 && bytes < keptBytes {
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
