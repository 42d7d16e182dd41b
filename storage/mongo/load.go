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
	"mayfly/engine/record"
)

// Load yields what the collections hold, changed by what is committed and not
// applied yet.
func (s *Store) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		leave, err := s.enter(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("load: %w", err))
			return
		}
		defer leave()
		ctx, done := s.tied(ctx)
		defer done()
		s.mu.Lock()
		applying := s.applying
		if applying == nil {
			applying = newWindow()
		}
		w, last := applying.over(s.waiting), s.last
		s.mu.Unlock()
		l := loader{from: &streamed{ctx, s.s, s.names}, w: w, epoch: s.epoch, last: last, yield: yield, claimed: map[engine.HolderID]bool{}}
		met, err := l.all()
		switch {
		case errors.Is(err, errStop):
		case err != nil:
			if why := context.Cause(ctx); why != nil {
				err = why
			}
			yield(nil, fmt.Errorf("load: %w", err))
		default:
			select { // what nobody claims goes, once
			case s.garbage <- met:
			default:
			}
		}
	}
}

// errStop says that whoever asked for records has seen enough.
var errStop = errors.New("stop")

// A source has the records of the collections.
type source interface {
	// each gives the records of a collection to do; of those that are gone the
	// head alone.
	each(in collection, do func(d docHead, rec engine.Record) error) error
	forgotten(do func(forgottenDoc) error) error
}

// streamed is a source that reads as it goes.
type streamed struct {
	ctx   context.Context //nolint:containedctx // it lives for one call
	s     server
	names names
}

func (f *streamed) each(in collection, do func(d docHead, rec engine.Record) error) error {
	if in == contents {
		return eachContent(f.ctx, f.s, f.names.all(), do)
	}
	return each(f.ctx, f.s, in, f.names.all(), do)
}

func (f *streamed) forgotten(do func(forgottenDoc) error) error {
	return eachForgotten(f.ctx, f.s, f.names.all(), do)
}

// A loader yields a namespace: records, and a window over them.
type loader struct {
	from    source
	w       *window
	yield   func(engine.Record, error) bool
	claimed map[engine.HolderID]bool // by entities that are there
	epoch   uint64                   // of the owner that reads; zero: somebody else does
	last    version                  // the commit that w ends with; zero: the last there is
	found   sweeping
}

// loaded are the fields that a load needs.
func loaded() []string { return []string{"v", "gone", "exact"} }

func (l *loader) all() (sweeping, error) {
	if err := l.say(engine.Clock{Now: l.w.now}, l.w.now != 0); err != nil {
		return l.found, err
	}
	for _, step := range []func() error{l.settings, l.entities, l.rules, l.meters, l.sessions, l.seen, l.contents, l.messages} {
		if err := step(); err != nil {
			return l.found, err
		}
	}
	return l.found, nil
}

func (l *loader) say(r engine.Record, wanted bool) error {
	if wanted && !l.yield(r, nil) {
		return errStop
	}
	return nil
}

// A docHead is what is in a document beside the record.
type docHead struct {
	id string
	v  version
}

// each reads the records of a collection; of those that are gone the head alone.
// The record is good after the next one too.
func each(ctx context.Context, s server, in collection, r span, do func(d docHead, rec engine.Record) error) error {
	r.fields = loaded()
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
			return fmt.Errorf("%s: %s is no record", in, d.id)
		}
		rec, err := record.Parse(exact)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", in, d.id, err)
		}
		if err := do(d, rec); err != nil {
			return err
		}
	}
	return nil
}

// entities come in the order of their ids, as they were made: a topic before
// its subscriptions. Who may do what in the namespace stands among them.
func (l *loader) entities() error {
	var all []engine.Entity
	var access *engine.Access
	var gone []engine.HolderID // a dead-letter queue can go alone
	if err := l.from.each(entities, func(d docHead, r engine.Record) error {
		if a, ok := r.(engine.Access); ok {
			access = &a
			return nil
		}
		e, ok := r.(engine.Entity)
		if !ok {
			h, err := numberIn(d.id, 0)
			gone = append(gone, engine.HolderID(h))
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
		if err := l.say(e, true); err != nil {
			return err
		}
	}
	for _, id := range gone {
		l.claimed[id] = false
	}
	l.claimed[0] = false
	return nil
}

// forsaken tells whether nobody will ever claim the holder of a document. A
// later epoch's may have come between the reading of entities and of what is in
// them, to an owner that does not know yet that it is over.
func (l *loader) forsaken(h engine.HolderID, v version) bool {
	return !l.claimed[h] && v.epoch() <= l.epoch
}

func (l *loader) rules() error {
	if err := l.from.each(rules, func(d docHead, r engine.Record) error {
		v, ok := r.(engine.Rule)
		if _, changed := l.w.rules[ruleID(v)]; !ok || changed {
			return nil
		}
		if l.forsaken(v.Subscription, d.v) {
			l.found.rules = append(l.found.rules, d.id)
		}
		return l.say(v, l.claimed[v.Subscription])
	}); err != nil {
		return err
	}
	for id, c := range l.w.rules {
		if err := l.say(c.r, !c.gone && l.claimed[id.Subscription]); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) meters() error {
	if err := l.from.each(meters, func(_ docHead, r engine.Record) error {
		v, ok := r.(engine.Meter)
		if _, changed := l.w.meters[v.Holder]; !ok || changed {
			return nil
		}
		return l.say(v, l.claimed[v.Holder])
	}); err != nil {
		return err
	}
	for id, c := range l.w.meters {
		if err := l.say(c.m, !c.gone && l.claimed[id]); err != nil {
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
		l.found.contents.add(c.Key)
		return l.say(c, true)
	}); err != nil {
		return err
	}
	for k, c := range l.w.contents {
		l.found.contents.add(k)
		if err := l.say(engine.StoredContent{Key: k, Content: c.packed}, !c.gone); err != nil {
			return err
		}
	}
	return nil
}

// eachContent reads contents, which are no more than their bytes.
func eachContent(ctx context.Context, s server, r span, do func(d docHead, rec engine.Record) error) error {
	r.fields = []string{"packed"}
	for raw, err := range s.Range(ctx, contents, r) {
		if err != nil {
			return fmt.Errorf("contents: %w", err)
		}
		id := textIn(raw, "_id")
		k, err := keyIn(id)
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
		if l.forsaken(m.Holder, d.v) {
			l.found.messages = append(l.found.messages, d.id)
		}
		return l.say(m, l.claimed[m.Holder])
	}); err != nil {
		return err
	}
	for _, c := range l.w.messages {
		if err := l.say(c.m, !c.gone && l.claimed[c.m.Holder]); err != nil {
			return err
		}
	}
	return nil
}

// readHolders learns which holders there are, before anything is applied.
func (s *Store) readHolders(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := each(ctx, s.s, entities, s.names.all(), func(_ docHead, r engine.Record) error {
		if e, ok := r.(engine.Entity); ok {
			s.know(e)
		}
		return nil
	}); err != nil {
		return err
	}
	for id, c := range s.waiting.entities {
		if c.gone {
			if p, ok := s.holders[id]; ok {
				s.waiting.dropped = append(s.waiting.dropped, p)
			}
			delete(s.holders, id)
			continue
		}
		s.know(c.e)
	}
	return nil
}

// readLarge learns which bodies are in chunks.
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
		k, err := keyIn(d.ID)
		if err != nil {
			return fmt.Errorf("large: %w", err)
		}
		s.large[k] = d
	}
	return nil
}
