// Package memory implements a store that is lost when the process ends: for tests, and for
// trying things out.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"mayfly/engine"
)

var (
	_ engine.Store    = (*Store)(nil)
	_ engine.InMemory = (*Store)(nil)
)

var errClosed = errors.New("the store is closed")

// A Store keeps records in maps. Its zero value is an empty store, open in its first epoch. It
// is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	records records // guarded by mu, as is everything below
	reopens uint64  // number of earlier Stores with this content
	closed  bool
	lost    chan struct{} // made by the first call of Lost
}

type records struct {
	now      engine.Instant
	access   *engine.Access // nil if never set
	settings map[string]engine.Setting
	entities map[engine.SubqueueID]engine.Entity
	rules    map[engine.RuleID]engine.Rule
	meters   map[engine.SubqueueID]engine.Meter
	sessions map[engine.SessionID]engine.SessionRecord
	seen     map[engine.SubqueueID][]engine.SeenIDs // in the order of numbers
	messages map[engine.Key]engine.Message
	contents map[engine.Key]engine.Packed
	bodies   map[engine.Key][]byte
	staged   map[engine.Key]struct{} // bodies that no content refers to yet
	history  history
}

// Reopen closes s and returns a store with its content, in the next epoch, as if the process
// had ended in between. s must not be used afterwards.
func (s *Store) Reopen() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &Store{records: s.records, reopens: s.reopens + 1}
	for k := range next.records.staged {
		delete(next.records.bodies, k)
	}
	next.records.staged = nil
	s.records = records{}
	s.close()
	return next
}

// InMemory returns true.
func (*Store) InMemory() bool { return true }

// Epoch returns 1 plus the number of calls of Reopen that led to s.
func (s *Store) Epoch() uint64 { return s.reopens + 1 }

// Lost returns a channel that Close closes.
func (s *Store) Lost() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lostChannel()
}

func (s *Store) lostChannel() chan struct{} {
	if s.lost == nil {
		s.lost = make(chan struct{})
	}
	return s.lost
}

// Owned reports whether the store is open.
func (s *Store) Owned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed
}

// Close ends the store; a second Close does nothing. Readers of bodies stay valid.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	return nil
}

func (s *Store) close() {
	if !s.closed {
		s.closed = true
		close(s.lostChannel())
	}
}

// Load yields the records stored when it is called.
func (s *Store) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		all, err := s.snapshot(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("load: %w", err))
			return
		}
		for _, r := range all {
			if ctx.Err() != nil {
				yield(nil, fmt.Errorf("load: %w", context.Cause(ctx)))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *Store) snapshot(ctx context.Context) (all []engine.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	h := &s.records
	if h.now != 0 {
		all = append(all, engine.Clock{Now: h.now})
	}
	if h.access != nil {
		all = append(all, *h.access)
	}
	for _, v := range h.settings {
		all = append(all, v)
	}
	claimed := map[engine.SubqueueID]bool{}
	for _, id := range slices.Sorted(maps.Keys(h.entities)) {
		e := h.entities[id]
		all = append(all, e)
		for _, subqueue := range []engine.SubqueueID{e.ID, e.DeadLetterID, e.TransferID} {
			claimed[subqueue] = true
		}
	}
	for _, r := range h.rules {
		if claimed[r.Subscription] {
			all = append(all, r)
		}
	}
	for _, m := range h.meters {
		if claimed[m.Subqueue] {
			all = append(all, m)
		}
	}
	for _, v := range h.sessions {
		if claimed[v.Subqueue] {
			all = append(all, v)
		}
	}
	for id, rows := range h.seen {
		for _, v := range rows {
			if claimed[id] {
				all = append(all, v)
			}
		}
	}
	for k, c := range h.contents {
		all = append(all, engine.StoredContent{Key: k, Content: c})
	}
	for _, m := range h.messages {
		if claimed[m.Subqueue] {
			all = append(all, own(m))
		}
	}
	return all, nil
}

// Stage stores the body until the store is reopened, or permanently once a content refers to
// it.
func (s *Store) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("stage body %d: %w", k, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return fmt.Errorf("stage body %d: %w", k, err)
	}
	set(&s.records.bodies, k, b)
	set(&s.records.staged, k, struct{}{})
	return nil
}

// Commit applies b.
func (s *Store) Commit(ctx context.Context, b *engine.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.records.apply(b)
	s.records.history.add(s.Epoch(), b.Audit)
	return nil
}

func (h *records) apply(b *engine.Batch) {
	h.now = b.Now
	if b.Access != nil {
		h.access = &engine.Access{Rules: slices.Clone(b.Access.Rules)}
	}
	for _, v := range b.Settings {
		set(&h.settings, v.Key, v)
	}
	for _, key := range b.DropSettings {
		delete(h.settings, key)
	}
	for _, e := range b.Entities {
		set(&h.entities, e.ID, e)
	}
	for _, r := range b.Rules {
		set(&h.rules, engine.RuleID{Subscription: r.Subscription, Name: strings.ToLower(r.Name)}, r)
	}
	for _, m := range b.Meters {
		set(&h.meters, m.Subqueue, m)
	}
	for _, v := range b.Sessions {
		set(&h.sessions, engine.SessionID{Subqueue: v.Subqueue, ID: v.ID}, v)
	}
	for _, v := range b.Seen {
		h.addSeen(v)
	}
	for _, m := range b.Messages {
		set(&h.messages, m.Key, own(m))
	}
	for _, c := range b.Contents {
		set(&h.contents, c.Key, c.Content)
		delete(h.staged, c.Key)
	}
	for _, body := range b.Bodies {
		set(&h.bodies, body.Key, bytes.Clone(body.Bytes))
	}
	for _, id := range b.DropRules {
		delete(h.rules, id)
	}
	for _, id := range b.DropSessions {
		delete(h.sessions, id)
	}
	for _, through := range b.DropSeen {
		h.dropSeen(through)
	}
	for _, k := range b.DropMessages {
		delete(h.messages, k)
	}
	for _, c := range b.DropContents {
		delete(h.contents, c.Key)
		delete(h.bodies, c.Key)
		delete(h.staged, c.Key)
	}
	h.dropSubqueues(b.DropSubqueues)
}

func byNumber(v engine.SeenIDs, n uint64) int { return cmp.Compare(v.N, n) }

func (h *records) addSeen(v engine.SeenIDs) {
	rows := h.seen[v.Subqueue]
	at, known := slices.BinarySearchFunc(rows, v.N, byNumber)
	if known {
		rows = slices.Delete(rows, at, at+1)
	}
	v.Digests = slices.Clone(v.Digests)
	set(&h.seen, v.Subqueue, slices.Insert(rows, at, v))
}

func (h *records) dropSeen(through engine.SeenIDsThrough) {
	rows := h.seen[through.Subqueue]
	to, found := slices.BinarySearchFunc(rows, through.N, byNumber)
	if found {
		to++
	}
	if to < len(rows) {
		clear(rows[:to])
		h.seen[through.Subqueue] = rows[to:]
		return
	}
	delete(h.seen, through.Subqueue)
}

func (h *records) dropSubqueues(ids []engine.SubqueueID) {
	if len(ids) == 0 {
		return
	}
	gone := make(map[engine.SubqueueID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
		delete(h.entities, id)
		delete(h.meters, id)
		delete(h.seen, id)
	}
	maps.DeleteFunc(h.sessions, func(id engine.SessionID, _ engine.SessionRecord) bool { return gone[id.Subqueue] })
	maps.DeleteFunc(h.rules, func(id engine.RuleID, _ engine.Rule) bool { return gone[id.Subscription] })
	maps.DeleteFunc(h.messages, func(_ engine.Key, m engine.Message) bool { return gone[m.Subqueue] })
}

// Body opens the body that was committed or staged under k.
func (s *Store) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, fmt.Errorf("body %d: %w", k, err)
	}
	b, ok := s.records.bodies[k]
	if !ok {
		return nil, fmt.Errorf("body %d: %w", k, engine.ErrMessageNotFound)
	}
	return reader{bytes.NewReader(b)}, nil
}

// SmallBodies calls found with the index of each key that has a body, of any size, and that body.
// It omits keys without a body.
func (s *Store) SmallBodies(ctx context.Context, keys []engine.Key, found func(int, []byte)) error {
	have, err := s.smallBodies(ctx, keys)
	if err != nil {
		return fmt.Errorf("%d bodies: %w", len(keys), err)
	}
	for i, b := range have { // bodies never change, so found runs without the mutex and delays no commit
		if b != nil {
			found(i, b)
		}
	}
	return nil
}

func (s *Store) smallBodies(ctx context.Context, keys []engine.Key) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	have := make([][]byte, len(keys))
	for i, k := range keys {
		have[i] = s.records.bodies[k]
	}
	return have, nil
}

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

func (s *Store) check(ctx context.Context) error {
	if s.closed {
		return errClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// own returns m with a copy of its Extra.
func own(m engine.Message) engine.Message {
	if m.Extra != nil {
		x := *m.Extra
		x.Properties = slices.Clone(x.Properties)
		m.Extra = &x
	}
	return m
}

func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
