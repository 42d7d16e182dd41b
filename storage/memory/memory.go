// Package memory is a store that forgets everything when the process ends: for
// tests, and for trying things out.
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

var _ engine.Store = (*Store)(nil)

var errClosed = errors.New("the store is closed")

// A Store keeps records in maps. Its zero value is an empty store, open in its
// first epoch. All methods may be called at any time, by many.
type Store struct {
	mu     sync.Mutex
	held   records // guarded by mu, as is everything below
	before uint64  // epochs that other Stores had this content in
	closed bool
	lost   chan struct{} // made when somebody asks for it
}

type records struct {
	now      engine.Instant
	access   *engine.Access // nil: there was never any
	settings map[string]engine.Setting
	entities map[engine.HolderID]engine.Entity
	rules    map[engine.RuleID]engine.Rule
	meters   map[engine.HolderID]engine.Meter
	sessions map[engine.SessionID]engine.Session
	seen     map[engine.HolderID][]engine.Seen // in the order of numbers
	messages map[engine.Key]engine.Message
	contents map[engine.Key]engine.Packed
	bodies   map[engine.Key][]byte
	staged   map[engine.Key]struct{} // bodies that no content has referred to yet
	past     history
}

// Reopen closes s and returns a store with what it held, in the next epoch, as
// if the process had ended in between. s is of no use afterwards.
func (s *Store) Reopen() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &Store{held: s.held, before: s.before + 1}
	for k := range next.held.staged {
		delete(next.held.bodies, k)
	}
	next.held.staged = nil
	s.held = records{}
	s.close()
	return next
}

// Epoch is 1, and one more after each Reopen.
func (s *Store) Epoch() uint64 { return s.before + 1 }

// Lost is closed by Close.
func (s *Store) Lost() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending()
}

func (s *Store) ending() chan struct{} {
	if s.lost == nil {
		s.lost = make(chan struct{})
	}
	return s.lost
}

// Owned is true until Close.
func (s *Store) Owned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed
}

// Close ends the store; a second Close does nothing. Readers of bodies stay
// good.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	return nil
}

func (s *Store) close() {
	if !s.closed {
		s.closed = true
		close(s.ending())
	}
}

// Load yields what is held at the moment it is called.
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
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	h := &s.held
	if h.now != 0 {
		all = append(all, engine.Clock{Now: h.now})
	}
	if h.access != nil {
		all = append(all, *h.access)
	}
	for _, v := range h.settings {
		all = append(all, v)
	}
	claimed := map[engine.HolderID]bool{}
	for _, id := range slices.Sorted(maps.Keys(h.entities)) {
		e := h.entities[id]
		all = append(all, e)
		for _, place := range []engine.HolderID{e.ID, e.DeadLetterID, e.TransferID} {
			claimed[place] = true
		}
	}
	for _, r := range h.rules {
		if claimed[r.Subscription] {
			all = append(all, r)
		}
	}
	for _, m := range h.meters {
		if claimed[m.Holder] {
			all = append(all, m)
		}
	}
	for _, v := range h.sessions {
		if claimed[v.Holder] {
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
		if claimed[m.Holder] {
			all = append(all, own(m))
		}
	}
	return all, nil
}

// Stage keeps the body until the store is reopened, or for good once a content
// refers to it.
func (s *Store) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("stage body %d: %w", k, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("stage body %d: %w", k, err)
	}
	set(&s.held.bodies, k, b)
	set(&s.held.staged, k, struct{}{})
	return nil
}

// Commit applies b.
func (s *Store) Commit(ctx context.Context, b *engine.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.held.apply(b)
	s.held.past.add(s.Epoch(), b.Audit)
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
		set(&h.meters, m.Holder, m)
	}
	for _, v := range b.Sessions {
		set(&h.sessions, engine.SessionID{Holder: v.Holder, ID: v.ID}, v)
	}
	for _, v := range b.Seen {
		h.see(v)
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
		h.forget(through)
	}
	for _, k := range b.DropMessages {
		delete(h.messages, k)
	}
	for _, c := range b.DropContents {
		delete(h.contents, c.Key)
		delete(h.bodies, c.Key)
		delete(h.staged, c.Key)
	}
	h.dropHolders(b.DropHolders)
}

func byNumber(v engine.Seen, n uint64) int { return cmp.Compare(v.N, n) }

func (h *records) see(v engine.Seen) {
	rows := h.seen[v.Holder]
	at, known := slices.BinarySearchFunc(rows, v.N, byNumber)
	if known {
		rows = slices.Delete(rows, at, at+1)
	}
	v.Digests = slices.Clone(v.Digests)
	set(&h.seen, v.Holder, slices.Insert(rows, at, v))
}

func (h *records) forget(through engine.SeenThrough) {
	rows := h.seen[through.Holder]
	to, found := slices.BinarySearchFunc(rows, through.N, byNumber)
	if found {
		to++
	}
	if to < len(rows) {
		clear(rows[:to])
		h.seen[through.Holder] = rows[to:]
		return
	}
	delete(h.seen, through.Holder)
}

func (h *records) dropHolders(ids []engine.HolderID) {
	if len(ids) == 0 {
		return
	}
	gone := make(map[engine.HolderID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
		delete(h.entities, id)
		delete(h.meters, id)
		delete(h.seen, id)
	}
	maps.DeleteFunc(h.sessions, func(id engine.SessionID, _ engine.Session) bool { return gone[id.Holder] })
	maps.DeleteFunc(h.rules, func(id engine.RuleID, _ engine.Rule) bool { return gone[id.Subscription] })
	maps.DeleteFunc(h.messages, func(_ engine.Key, m engine.Message) bool { return gone[m.Holder] })
}

// Body reads what was committed or staged under k.
func (s *Store) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, fmt.Errorf("body %d: %w", k, err)
	}
	b, ok := s.held.bodies[k]
	if !ok {
		return nil, fmt.Errorf("body %d: %w", k, engine.ErrMessageNotFound)
	}
	return reader{bytes.NewReader(b)}, nil
}

// SmallBodies reads bodies as Body does, but for those that were staged, which it
// does not tell from the others.
func (s *Store) SmallBodies(ctx context.Context, keys []engine.Key, found func(int, []byte)) error {
	have, err := s.smallBodies(ctx, keys)
	if err != nil {
		return fmt.Errorf("%d bodies: %w", len(keys), err)
	}
	for i, b := range have { // nobody writes into a body: found holds up no commit
		if b != nil {
			found(i, b)
		}
	}
	return nil
}

func (s *Store) smallBodies(ctx context.Context, keys []engine.Key) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	have := make([][]byte, len(keys))
	for i, k := range keys {
		have[i] = s.held.bodies[k]
	}
	return have, nil
}

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return errClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// own is m with an Extra that nobody else can change.
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
