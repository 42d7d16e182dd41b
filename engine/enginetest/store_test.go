package enginetest

import (
	"fmt"
	"maps"
	"slices"

	"mayfly/engine"
)

// remembered is a store in maps, which contain the records of committed batches and nothing
// else.
type remembered struct {
	now      engine.Instant
	entities map[engine.SubqueueID]engine.Entity
	rules    map[engine.RuleID]engine.Rule
	meters   map[engine.SubqueueID]engine.Meter
	sessions map[engine.SessionID]engine.SessionRecord
	settings map[string]engine.Setting
	messages map[engine.Key]engine.Message
	contents map[engine.Key]engine.StoredContent
	bodies   map[engine.Key]bool // staged ones too
	seen     []engine.SeenIDs
}

func newRemembered() *remembered {
	return &remembered{
		entities: map[engine.SubqueueID]engine.Entity{}, rules: map[engine.RuleID]engine.Rule{}, meters: map[engine.SubqueueID]engine.Meter{},
		sessions: map[engine.SessionID]engine.SessionRecord{}, settings: map[string]engine.Setting{},
		messages: map[engine.Key]engine.Message{}, contents: map[engine.Key]engine.StoredContent{}, bodies: map[engine.Key]bool{},
	}
}

// apply stores a batch. It returns an error for batches that a store need not support.
func (s *remembered) apply(b *engine.Batch) error {
	if b.Hard {
		s.now = b.Now
	}
	for _, id := range b.DropSubqueues {
		dead, transfer := s.entities[id].DeadLetterID, s.entities[id].TransferID
		delete(s.entities, id)
		delete(s.meters, id)
		s.seen = slices.DeleteFunc(s.seen, func(x engine.SeenIDs) bool { return x.Subqueue == id })
		maps.DeleteFunc(s.rules, func(r engine.RuleID, _ engine.Rule) bool { return r.Subscription == id })
		maps.DeleteFunc(s.messages, func(_ engine.Key, m engine.Message) bool {
			return m.Subqueue == id || dead != 0 && m.Subqueue == dead || m.Subqueue == transfer
		})
		maps.DeleteFunc(s.sessions, func(k engine.SessionID, _ engine.SessionRecord) bool { return k.Subqueue == id })
	}
	for _, r := range b.Settings {
		s.settings[r.Key] = r
	}
	for _, key := range b.DropSettings {
		delete(s.settings, key)
	}
	for _, e := range b.Entities {
		s.entities[e.ID] = e
	}
	for _, id := range b.DropRules {
		delete(s.rules, id)
	}
	for _, r := range b.Rules {
		s.rules[engine.RuleID{Subscription: r.Subscription, Name: lower(r.Name)}] = r
	}
	for _, m := range b.Meters {
		s.meters[m.Subqueue] = m
	}
	for _, d := range b.DropSeen {
		through := func(x engine.SeenIDs) bool { return x.Subqueue == d.Subqueue && x.N <= d.N }
		if slices.ContainsFunc(b.Seen, through) {
			return fmt.Errorf("seen ids of subqueue %d are both stored and dropped, up to number %d", d.Subqueue, d.N)
		}
		s.seen = slices.DeleteFunc(s.seen, through)
	}
	for _, x := range b.Seen {
		if slices.ContainsFunc(s.seen, func(o engine.SeenIDs) bool { return o.Subqueue == x.Subqueue && o.N >= x.N }) {
			return fmt.Errorf("seen ids of subqueue %d get number %d, which is not the highest", x.Subqueue, x.N)
		}
		s.seen = append(s.seen, engine.SeenIDs{Subqueue: x.Subqueue, N: x.N, At: x.At, Digests: slices.Clone(x.Digests)})
	}
	for _, id := range b.DropSessions {
		delete(s.sessions, id)
	}
	for _, r := range b.Sessions {
		s.sessions[engine.SessionID{Subqueue: r.Subqueue, ID: r.ID}] = r
	}
	for _, k := range b.DropMessages {
		delete(s.messages, k)
	}
	for _, m := range b.Messages {
		s.messages[m.Key] = m
	}
	for _, c := range b.Contents {
		s.contents[c.Key] = c
	}
	for _, y := range b.Bodies {
		s.bodies[y.Key] = true
	}
	for _, d := range b.DropContents {
		if _, ok := s.contents[d.Key]; !ok && !s.bodies[d.Key] {
			return fmt.Errorf("content %d is dropped, but was never stored or already dropped", d.Key)
		}
		if d.HasBody != s.bodies[d.Key] {
			return fmt.Errorf("content %d is dropped with HasBody %v, but its body is stored: %v", d.Key, d.HasBody, s.bodies[d.Key])
		}
		delete(s.contents, d.Key)
		delete(s.bodies, d.Key)
	}
	if len(b.Written) != len(b.Messages) {
		return fmt.Errorf("the batch has %d Written for %d messages", len(b.Written), len(b.Messages))
	}
	for i, m := range b.Messages {
		if s.holds(m) && b.Written[i] != s.contents[m.Content].Content {
			return fmt.Errorf("Written of message %d is not its content", m.Key)
		}
	}
	for k, m := range s.messages {
		if c, ok := s.contents[m.Content]; s.holds(m) && (!ok || (c.Content.BodySize() > 0) != s.bodies[m.Content]) {
			return fmt.Errorf("message %d is stored without its content %d, or without the body", k, m.Content)
		}
	}
	return nil
}

// holds reports whether m belongs to an entity; Load skips other messages as garbage.
func (s *remembered) holds(m engine.Message) bool {
	for _, e := range s.entities {
		if m.Subqueue == e.ID || m.Subqueue == e.DeadLetterID || m.Subqueue == e.TransferID {
			return true
		}
	}
	return false
}

// load returns a new namespace with everything stored, in Load's order.
func (s *remembered) load(now engine.Instant, o engine.Options) (*engine.Namespace, error) {
	ns := engine.New(o)
	var all []engine.Record
	for _, r := range s.settings {
		all = append(all, r)
	}
	for _, id := range slices.Sorted(maps.Keys(s.entities)) {
		all = append(all, s.entities[id])
	}
	for _, r := range s.rules {
		all = append(all, r)
	}
	for _, m := range s.meters {
		all = append(all, m)
	}
	for _, x := range s.seen {
		all = append(all, x)
	}
	for _, r := range s.sessions {
		all = append(all, r)
	}
	for _, c := range s.contents {
		all = append(all, c)
	}
	for _, m := range s.messages {
		if s.holds(m) {
			all = append(all, m)
		}
	}
	for _, r := range all {
		if err := ns.Restore(r); err != nil {
			return nil, fmt.Errorf("restore: %w", err)
		}
	}
	ns.Restored(now)
	return ns, nil
}
