package engine_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mayfly/engine"
)

// remembered is a store that follows the comment of engine.Batch strictly.
type remembered struct {
	clock    engine.Instant
	entities map[engine.SubqueueID]engine.Entity
	rules    map[engine.RuleID]engine.Rule
	meters   map[engine.SubqueueID]engine.Meter
	sessions map[engine.SessionID]engine.SessionRecord
	settings map[string]engine.Setting
	messages map[engine.Key]engine.Message
	contents map[engine.Key]engine.Packed
	bodies   map[engine.Key][]byte
	seen     []engine.SeenIDs
	access   *engine.Access
}

func newRemembered() remembered {
	return remembered{
		entities: map[engine.SubqueueID]engine.Entity{}, rules: map[engine.RuleID]engine.Rule{}, meters: map[engine.SubqueueID]engine.Meter{},
		sessions: map[engine.SessionID]engine.SessionRecord{}, settings: map[string]engine.Setting{},
		messages: map[engine.Key]engine.Message{}, contents: map[engine.Key]engine.Packed{}, bodies: map[engine.Key][]byte{},
	}
}

func (r *remembered) commit(b *engine.Batch) error {
	if b == nil {
		return nil
	}
	named := map[any]bool{}
	once := func(id any) error {
		if named[id] {
			return fmt.Errorf("the batch contains %T %v twice", id, id)
		}
		named[id] = true
		return nil
	}
	var errs []error
	if b.Hard {
		r.clock = b.Now
	}
	if b.Access != nil {
		r.access = b.Access
	}
	type settingKey string
	for _, s := range b.Settings {
		errs = append(errs, once(settingKey(s.Key)))
		r.settings[s.Key] = s
	}
	for _, key := range b.DropSettings {
		errs = append(errs, once(settingKey(key)))
		delete(r.settings, key)
	}
	for _, e := range b.Entities {
		errs = append(errs, once(e.ID))
		r.entities[e.ID] = e
	}
	for _, x := range b.Rules {
		id := engine.RuleID{Subscription: x.Subscription, Name: engine.Path(x.Name).Fold()}
		errs = append(errs, once(id))
		r.rules[id] = x
	}
	type meter engine.SubqueueID
	for _, m := range b.Meters {
		errs = append(errs, once(meter(m.Subqueue)))
		r.meters[m.Subqueue] = m
	}
	for _, s := range b.Sessions {
		id := engine.SessionID{Subqueue: s.Subqueue, ID: s.ID}
		errs = append(errs, once(id))
		r.sessions[id] = s
	}
	for _, id := range b.DropSessions {
		errs = append(errs, once(id))
		delete(r.sessions, id)
	}
	for _, m := range b.Messages {
		errs = append(errs, once(m.Key))
		r.messages[m.Key] = m
	}
	type contentKey engine.Key
	for _, x := range b.Contents {
		errs = append(errs, once(contentKey(x.Key)))
		r.contents[x.Key] = x.Content
	}
	for _, x := range b.Bodies {
		r.bodies[x.Key] = bytes.Clone(x.Bytes)
	}
	for _, x := range b.Seen {
		if slices.ContainsFunc(r.seen, func(o engine.SeenIDs) bool { return o.Subqueue == x.Subqueue && o.N >= x.N }) {
			errs = append(errs, fmt.Errorf("seen ids of subqueue %d get number %d, which is not the highest", x.Subqueue, x.N))
		}
		x.Digests = slices.Clone(x.Digests)
		r.seen = append(r.seen, x)
	}
	for _, d := range b.DropSeen {
		if slices.ContainsFunc(b.Seen, func(x engine.SeenIDs) bool { return x.Subqueue == d.Subqueue && x.N <= d.N }) {
			errs = append(errs, fmt.Errorf("seen ids of subqueue %d are both stored and dropped", d.Subqueue))
		}
		r.seen = slices.DeleteFunc(r.seen, func(x engine.SeenIDs) bool { return x.Subqueue == d.Subqueue && x.N <= d.N })
	}
	for _, id := range b.DropRules {
		errs = append(errs, once(id))
		delete(r.rules, id)
	}
	for _, k := range b.DropMessages {
		errs = append(errs, once(k))
		delete(r.messages, k)
	}
	for _, x := range b.DropContents {
		errs = append(errs, once(contentKey(x.Key)))
		delete(r.contents, x.Key)
		if x.HasBody {
			delete(r.bodies, x.Key)
		}
	}
	for _, id := range b.DropSubqueues {
		errs = append(errs, once(id))
		delete(r.entities, id)
		delete(r.meters, id)
		r.seen = slices.DeleteFunc(r.seen, func(x engine.SeenIDs) bool { return x.Subqueue == id })
		maps.DeleteFunc(r.rules, func(k engine.RuleID, _ engine.Rule) bool { return k.Subscription == id })
		maps.DeleteFunc(r.sessions, func(k engine.SessionID, _ engine.SessionRecord) bool { return k.Subqueue == id })
		maps.DeleteFunc(r.messages, func(_ engine.Key, m engine.Message) bool { return m.Subqueue == id })
	}
	return errors.Join(errs...)
}

func (r *remembered) load() []engine.Record {
	records := []engine.Record{engine.Clock{Now: r.clock}}
	if r.access != nil {
		records = append(records, *r.access)
	}
	for _, s := range r.settings {
		records = append(records, s)
	}
	for _, e := range sorted(r.entities, func(e engine.Entity) uint64 { return uint64(e.ID) }) {
		records = append(records, e)
	}
	for _, x := range r.rules {
		records = append(records, x)
	}
	for _, m := range r.meters {
		records = append(records, m)
	}
	for _, x := range r.seen {
		records = append(records, x)
	}
	for _, s := range r.sessions {
		records = append(records, s)
	}
	for k, p := range r.contents {
		records = append(records, engine.StoredContent{Key: k, Content: p})
	}
	for _, m := range r.messages {
		records = append(records, m)
	}
	return records
}

func sorted[K comparable, V any](m map[K]V, by func(V) uint64) []V {
	return slices.SortedFunc(maps.Values(m), func(a, b V) int { return cmp.Compare(by(a), by(b)) })
}
