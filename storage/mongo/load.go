package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/codec"
)

// Load yields the records of the collections, overridden by commits that are not applied
// yet.
func (s *Store) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		leave, err := s.enter(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("load: %w", err))
			return
		}
		defer leave()
		ctx, done := s.withLifetime(ctx)
		defer done()
		s.mu.Lock()
		applying := s.applying
		if applying == nil {
			applying = newWindow()
		}
		w, last := applying.merged(s.waiting), s.last
		s.mu.Unlock()
		l := loader{from: &streamed{ctx, s.s, s.names}, w: w, epoch: s.epoch, last: last, yield: yield, claimed: map[engine.SubqueueID]bool{}}
		met, err := l.all()
		switch {
		case errors.Is(err, errStop):
		case err != nil:
			if why := context.Cause(ctx); why != nil {
				err = why
			}
			yield(nil, fmt.Errorf("load: %w", err))
		default:
			select { // garbage is dropped while earlier garbage waits to be swept; the next load finds it again
			case s.garbage <- met:
			default:
			}
		}
	}
}

// errStop means that the consumer stopped the iteration.
var errStop = errors.New("stop")

// A source reads the records of the collections.
type source interface {
	// each calls do for the records of a collection, and for tombstones with a nil record.
	each(in collection, do func(d docHead, rec engine.Record) error) error
	forgotten(do func(seenDropsDoc) error) error
}

// streamed is a source that reads from MongoDB on demand.
type streamed struct {
	ctx   context.Context //nolint:containedctx // it lives for one call
	s     server
	names docIDs
}

func (f *streamed) each(in collection, do func(d docHead, rec engine.Record) error) error {
	if in == contents {
		return eachContent(f.ctx, f.s, f.names.all(), do)
	}
	return each(f.ctx, f.s, in, f.names.all(), do)
}

func (f *streamed) forgotten(do func(seenDropsDoc) error) error {
	return eachForgotten(f.ctx, f.s, f.names.all(), do)
}

// A loader yields a namespace: the records of a source, overridden by the changes in a window.
type loader struct {
	from    source
	w       *window
	yield   func(engine.Record, error) bool
	claimed map[engine.SubqueueID]bool // whether an existing entity owns the subqueue
	epoch   uint64                     // of the owner that loads; zero means a reader that owns nothing (OpenSnapshot)
	last    version                    // the last commit in w; zero means the latest
	garbage garbage
}

// loaded are the fields that a load needs.
var loaded = []string{
	"v", "gone", "exact",
}

func (l *loader) all() (garbage, error) {
	if err := l.emit(engine.Clock{Now: l.w.now}, l.w.now != 0); err != nil {
		return l.garbage, err
	}
	for _, step := range []func() error{l.settings, l.entities, l.rules, l.meters, l.sessions, l.seen, l.contents, l.messages} {
		if err := step(); err != nil {
			return l.garbage, err
		}
	}
	return l.garbage, nil
}

func (l *loader) emit(r engine.Record, wanted bool) error {
	if wanted && !l.yield(r, nil) {
		return errStop
	}
	return nil
}

// A docHead is a document's _id and version.
type docHead struct {
	id string
	v  version
}

// each calls do for the records of a collection, and for tombstones with a nil record. A
// record stays valid after the call.
func each(ctx context.Context, s server, in collection, r idRange, do func(d docHead, rec engine.Record) error) error {
	r.fields = loaded
	for raw, err := range s.Range(ctx, in, r) {
		if err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		v, _ := raw.Lookup("v").AsInt64OK()
		d := docHead{textIn(raw, "_id"), version(v)}
		if gone, _ := raw.Lookup("gone").BooleanOK(); gone {
			if err := do(d, nil); err != nil {
				return err
			}
			continue
		}
		_, exact, ok := raw.Lookup("exact").BinaryOK()
		if !ok {
			return fmt.Errorf("%s: %s is not a record", in, d.id)
		}
		rec, err := codec.Parse(exact)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", in, d.id, err)
		}
		if err := do(d, rec); err != nil {
			return err
		}
	}
	return nil
}

// entities yields the access rules, which are in the same collection, and then the entities in the
// order of their ids, which is that of their creation: a topic before its subscriptions.
func (l *loader) entities() error {
	var all []engine.Entity
	var access *engine.Access
	var gone []engine.SubqueueID // a dead-letter queue can be dropped alone
	if err := l.from.each(entities, func(d docHead, r engine.Record) error {
		if a, ok := r.(engine.Access); ok {
			access = &a
			return nil
		}
		e, ok := r.(engine.Entity)
		if !ok {
			h, err := parseNumber(d.id, 0)
			gone = append(gone, engine.SubqueueID(h))
			return err
		}
		if _, changed := l.w.entities[e.ID]; !changed {
			all = append(all, e)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := l.access(access); err != nil {
		return err
	}
	for id, c := range l.w.entities {
		if c.gone {
			gone = append(gone, id)
		} else {
			all = append(all, c.e)
		}
	}
	slices.SortFunc(all, func(a, b engine.Entity) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range all {
		l.claimed[e.ID], l.claimed[e.DeadLetterID], l.claimed[e.TransferID] = true, true, true
		if err := l.emit(e, true); err != nil {
			return err
		}
	}
	for _, id := range gone {
		l.claimed[id] = false
	}
	l.claimed[0] = false
	return nil
}

// isUnclaimed reports whether no entity will ever claim the subqueue that a document belongs
// to. Documents of later epochs do not count: their entities may have been created after this
// owner, not yet aware that its epoch is over, read the entities.
func (l *loader) isUnclaimed(h engine.SubqueueID, v version) bool {
	return !l.claimed[h] && v.epoch() <= l.epoch
}

func (l *loader) rules() error {
	if err := l.from.each(rules, func(d docHead, r engine.Record) error {
		v, ok := r.(engine.Rule)
		if _, changed := l.w.rules[ruleID(v)]; !ok || changed {
			return nil
		}
		if l.isUnclaimed(v.Subscription, d.v) {
			l.garbage.rules = append(l.garbage.rules, d.id)
		}
		return l.emit(v, l.claimed[v.Subscription])
	}); err != nil {
		return err
	}
	for id, c := range l.w.rules {
		if err := l.emit(c.r, !c.gone && l.claimed[id.Subscription]); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) meters() error {
	if err := l.from.each(meters, func(_ docHead, r engine.Record) error {
		v, ok := r.(engine.Meter)
		if _, changed := l.w.meters[v.Subqueue]; !ok || changed {
			return nil
		}
		return l.emit(v, l.claimed[v.Subqueue])
	}); err != nil {
		return err
	}
	for id, c := range l.w.meters {
		if err := l.emit(c.m, !c.gone && l.claimed[id]); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) contents() error {
	if err := l.from.each(contents, func(_ docHead, r engine.Record) error {
		c, ok := r.(engine.StoredContent)
		if _, changed := l.w.contents[c.Key]; !ok || changed {
			return nil
		}
		l.garbage.foundContents.add(c.Key)
		return l.emit(c, true)
	}); err != nil {
		return err
	}
	for k, c := range l.w.contents {
		l.garbage.foundContents.add(k)
		if err := l.emit(engine.StoredContent{Key: k, Content: c.packed}, !c.gone); err != nil {
			return err
		}
	}
	return nil
}

// eachContent reads contents, which consist of their bytes alone.
func eachContent(ctx context.Context, s server, r idRange, do func(d docHead, rec engine.Record) error) error {
	r.fields = []string{"packed"}
	for raw, err := range s.Range(ctx, contents, r) {
		if err != nil {
			return fmt.Errorf("contents: %w", err)
		}
		id := textIn(raw, "_id")
		k, err := parseKey(id)
		if err != nil {
			return fmt.Errorf("contents: %w", err)
		}
		_, packed, _ := raw.Lookup("packed").BinaryOK()
		if err := do(docHead{id: id}, engine.StoredContent{Key: k, Content: engine.Packed(packed)}); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) messages() error {
	if err := l.from.each(messages, func(d docHead, r engine.Record) error {
		m, ok := r.(engine.Message)
		if _, changed := l.w.messages[m.Key]; !ok || changed {
			return nil
		}
		if l.isUnclaimed(m.Subqueue, d.v) {
			l.garbage.messages = append(l.garbage.messages, d.id)
		}
		return l.emit(m, l.claimed[m.Subqueue])
	}); err != nil {
		return err
	}
	for _, c := range l.w.messages {
		if err := l.emit(c.m, !c.gone && l.claimed[c.m.Subqueue]); err != nil {
			return err
		}
	}
	return nil
}

// readSubqueues sets s.subqueues to the subqueues of the stored entities, changed by the waiting
// window. It is called before the first window is applied.
func (s *Store) readSubqueues(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := each(ctx, s.s, entities, s.names.all(), func(_ docHead, r engine.Record) error {
		if e, ok := r.(engine.Entity); ok {
			s.addSubqueues(e)
		}
		return nil
	}); err != nil {
		return err
	}
	for id, c := range s.waiting.entities {
		if c.gone {
			if p, ok := s.subqueues[id]; ok {
				s.waiting.droppedSubqueues = append(s.waiting.droppedSubqueues, p)
			}
			delete(s.subqueues, id)
			continue
		}
		s.addSubqueues(c.e)
	}
	return nil
}

// readLarge adds to s.large the documents of all bodies that are stored in chunks.
func (s *Store) readLarge(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for raw, err := range s.s.Range(ctx, large, s.names.all()) {
		if err != nil {
			return fmt.Errorf("large: %w", err)
		}
		var d largeDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("large: %w", err)
		}
		k, err := parseKey(d.ID)
		if err != nil {
			return fmt.Errorf("large: %w", err)
		}
		s.large[k] = d
	}
	return nil
}
