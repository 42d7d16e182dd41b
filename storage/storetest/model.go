package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/value"
)

// A state is the content of a store, by identities.
type state struct {
	Clock     engine.Instant
	Access    *engine.Access // nil if never set
	Settings  map[string]engine.Setting
	Entities  map[engine.SubqueueID]engine.Entity
	Rules     map[engine.RuleID]engine.Rule
	Meters    map[engine.SubqueueID]engine.Meter
	Sessions  map[engine.SessionID]engine.SessionRecord
	Seen      map[engine.SeenIDsThrough]engine.SeenIDs // by subqueue and number
	Contents  map[engine.Key]engine.Packed
	Messages  map[engine.Key]engine.Message
	bodies    map[engine.Key][]byte
	audit     []engine.Event // audit events in order
	softClock engine.Instant // time of the last batch, hard or soft; the store may yield it as its clock
}

func newState() *state {
	return &state{
		Settings: map[string]engine.Setting{},
		Entities: map[engine.SubqueueID]engine.Entity{}, Rules: map[engine.RuleID]engine.Rule{},
		Meters: map[engine.SubqueueID]engine.Meter{}, Sessions: map[engine.SessionID]engine.SessionRecord{},
		Seen: map[engine.SeenIDsThrough]engine.SeenIDs{}, Contents: map[engine.Key]engine.Packed{},
		Messages: map[engine.Key]engine.Message{}, bodies: map[engine.Key][]byte{},
	}
}

func ruleID(r engine.Rule) engine.RuleID {
	return engine.RuleID{Subscription: r.Subscription, Name: strings.ToLower(r.Name)}
}

func sessionID(v engine.SessionRecord) engine.SessionID {
	return engine.SessionID{Subqueue: v.Subqueue, ID: v.ID}
}

func seenID(v engine.SeenIDs) engine.SeenIDsThrough {
	return engine.SeenIDsThrough{Subqueue: v.Subqueue, N: v.N}
}

// lastSeen returns the highest number of an entity's MessageIds, or zero if it has none.
func (s *state) lastSeen(h engine.SubqueueID) (n uint64) {
	for id := range s.Seen {
		if id.Subqueue == h {
			n = max(n, id.N)
		}
	}
	return n
}

// apply applies b as engine.Batch specifies.
func (s *state) apply(b *engine.Batch) {
	if s.softClock = b.Now; b.Hard {
		s.Clock = b.Now
	}
	if b.Access != nil {
		s.Access = b.Access
	}
	for _, v := range b.Settings {
		s.Settings[v.Key] = v
	}
	for _, key := range b.DropSettings {
		delete(s.Settings, key)
	}
	for _, e := range b.Entities {
		s.Entities[e.ID] = e
	}
	for _, r := range b.Rules {
		s.Rules[ruleID(r)] = r
	}
	for _, m := range b.Meters {
		s.Meters[m.Subqueue] = m
	}
	for _, v := range b.Sessions {
		s.Sessions[sessionID(v)] = v
	}
	for _, v := range b.Seen {
		s.Seen[seenID(v)] = v
	}
	for _, m := range b.Messages {
		s.Messages[m.Key] = m
	}
	for _, c := range b.Contents {
		s.Contents[c.Key] = c.Content
	}
	for _, body := range b.Bodies {
		s.bodies[body.Key] = body.Bytes
	}
	s.audit = append(s.audit, b.Audit...)
	for _, id := range b.DropRules {
		delete(s.Rules, id)
	}
	for _, id := range b.DropSessions {
		delete(s.Sessions, id)
	}
	for _, through := range b.DropSeen {
		maps.DeleteFunc(s.Seen, func(id engine.SeenIDsThrough, _ engine.SeenIDs) bool {
			return id.Subqueue == through.Subqueue && id.N <= through.N
		})
	}
	for _, k := range b.DropMessages {
		delete(s.Messages, k)
	}
	for _, c := range b.DropContents {
		delete(s.Contents, c.Key)
		delete(s.bodies, c.Key)
	}
	for _, id := range b.DropSubqueues {
		delete(s.Entities, id)
		delete(s.Meters, id)
		maps.DeleteFunc(s.Rules, func(r engine.RuleID, _ engine.Rule) bool { return r.Subscription == id })
		maps.DeleteFunc(s.Sessions, func(v engine.SessionID, _ engine.SessionRecord) bool { return v.Subqueue == id })
		maps.DeleteFunc(s.Seen, func(v engine.SeenIDsThrough, _ engine.SeenIDs) bool { return v.Subqueue == id })
		maps.DeleteFunc(s.Messages, func(_ engine.Key, m engine.Message) bool { return m.Subqueue == id })
	}
}

// visible returns s without contents that no message refers to, which a store may drop.
func (s *state) visible() *state {
	v := *s
	used := map[engine.Key]bool{}
	for _, m := range s.Messages {
		used[m.Content] = true
	}
	v.Contents = maps.Clone(s.Contents)
	maps.DeleteFunc(v.Contents, func(k engine.Key, _ engine.Packed) bool { return !used[k] })
	return &v
}

// load reads a store and checks that each record is yielded once, in the specified order.
func load(t *testing.T, store engine.Store) *state {
	t.Helper()
	s, err := tryLoad(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryLoad(ctx context.Context, store engine.Store) (*state, error) {
	s := newState()
	rank, last, numbers := 0, engine.SubqueueID(0), map[engine.SubqueueID]uint64{}
	for r, err := range store.Load(ctx) {
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		at, twice := 0, false
		switch r := r.(type) {
		case engine.Clock:
			twice = s.Clock != 0
			s.Clock = r.Now
		case engine.Access:
			twice = s.Access != nil
			s.Access = &r
		case engine.Setting:
			_, twice = s.Settings[r.Key]
			s.Settings[r.Key] = r
		case engine.Entity:
			at = 1
			if r.ID <= last {
				return nil, fmt.Errorf("entity %d comes after entity %d", r.ID, last)
			}
			last = r.ID
			s.Entities[r.ID] = r
		case engine.Rule:
			at = 2
			_, twice = s.Rules[ruleID(r)]
			s.Rules[ruleID(r)] = r
		case engine.Meter:
			at = 2
			_, twice = s.Meters[r.Subqueue]
			s.Meters[r.Subqueue] = r
		case engine.SessionRecord:
			at = 3
			_, twice = s.Sessions[sessionID(r)]
			s.Sessions[sessionID(r)] = r
		case engine.SeenIDs:
			at = 3
			if last, more := numbers[r.Subqueue]; more && r.N <= last {
				return nil, fmt.Errorf("MessageIds of %d have number %d after number %d", r.Subqueue, r.N, last)
			}
			numbers[r.Subqueue] = r.N
			s.Seen[seenID(r)] = r
		case engine.StoredContent:
			at = 4
			_, twice = s.Contents[r.Key]
			s.Contents[r.Key] = r.Content
		case engine.Message:
			at = 5
			_, twice = s.Messages[r.Key]
			s.Messages[r.Key] = r
		default:
			return nil, fmt.Errorf("an unknown record %T", r)
		}
		if at < rank {
			return nil, fmt.Errorf("a %T comes too late", r)
		}
		if rank = at; twice {
			return nil, fmt.Errorf("a %T comes twice: %+v", r, r)
		}
	}
	return s, nil
}

func diff(want, got *state) string {
	want, got = want.visible(), got.visible()
	if got.Clock == want.softClock {
		got.Clock = want.Clock
	}
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(state{}), cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b value.Value) bool { return a == b }), cmp.Comparer(sameSeen))
}

// sameSeen compares rows of MessageIds. It is faster than cmp when there are many digests.
func sameSeen(a, b engine.SeenIDs) bool {
	return seenID(a) == seenID(b) && a.At == b.At && slices.Equal(a.Digests, b.Digests)
}

// bodiesDiffer returns an error for the first stored body that differs from the model's. To
// save time, it compares only every n-th body.
func (s *state) bodiesDiffer(ctx context.Context, store engine.Store, n int) error {
	used := s.visible().Contents
	for i, k := range slices.Sorted(maps.Keys(used)) {
		want, ok := s.bodies[k]
		if !ok || i%n != 0 {
			continue
		}
		got, err := readBody(ctx, store, k)
		if err != nil {
			return err
		}
		if string(got) != string(want) {
			return fmt.Errorf("body %d has %d bytes that differ from the %d written", k, len(got), len(want))
		}
	}
	return nil
}

func readBody(ctx context.Context, store engine.Store, k engine.Key) ([]byte, error) {
	r, err := store.Body(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("open body: %w", err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read body %d: %w", k, err)
	}
	return b, nil
}

func check(t *testing.T, store engine.Store, want *state) {
	t.Helper()
	if d := diff(want, load(t, store)); d != "" {
		t.Fatalf("the store does not contain the committed records (-want +got):\n%s", d)
	}
	if err := errors.Join(want.bodiesDiffer(t.Context(), store, 1), want.auditDiffers(t.Context(), store)); err != nil {
		t.Fatal(err)
	}
}

// auditDiffers returns an error if the audit events differ from the model. It returns nil for a
// store without a history.
func (s *state) auditDiffers(ctx context.Context, store engine.Store) error {
	h, ok := store.(engine.History)
	if !ok {
		return nil
	}
	var got []engine.Event
	for e, err := range h.QueryEvents(ctx, engine.HistoryQuery{Audit: true}) {
		if err != nil {
			return err
		}
		got = append(got, e.Event)
	}
	slices.Reverse(got)
	if d := cmp.Diff(s.audit, got, cmpopts.EquateEmpty()); d != "" {
		return fmt.Errorf("the audit events differ (-want +got):\n%s", d)
	}
	return nil
}
