package e2e

import (
	"context"
	"fmt"
	"sync"

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/memory"
)

// A SharedStore is a namespace that several servers in this process share, like one on MongoDB. One
// server at a time owns it.
type SharedStore struct {
	mu      sync.Mutex
	store   *memory.Store // of the current owner
	process string        // of the owner; empty if it was released
	owner   engine.Owner
	down    error         // error for all servers that open it
	changed chan struct{} // closed and replaced when owner or down changes
	opens   int
	silent  bool // a store does not notice that it is lost until it commits
	hangs   bool // opening blocks
}

func NewSharedStore() *SharedStore {
	return &SharedStore{store: new(memory.Store), changed: make(chan struct{})}
}

// Open is storage.Open for the shared store.
func (s *SharedStore) Open(ctx context.Context, _ string, o storage.Options) (engine.Store, error) {
	var seen engine.Owner
	for {
		store, owner, changed, err := s.claim(o)
		if store != nil || err != nil {
			return store, err
		}
		if o.Standby == nil {
			return nil, &engine.OwnedError{Owner: owner}
		}
		if owner != seen {
			o.Standby(owner)
			seen = owner
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the namespace: %w", context.Cause(ctx))
		}
	}
}

func (s *SharedStore) claim(o storage.Options) (engine.Store, engine.Owner, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens++
	switch {
	case s.hangs:
		return nil, engine.Owner{}, nil, nil
	case s.down != nil:
		return nil, s.owner, nil, s.down
	case s.process != "" && s.process != o.Process:
		return nil, s.owner, s.changed, nil
	}
	s.take(o.Process, o.Owner)
	return &borrowed{Store: s.store, from: s, process: o.Process}, s.owner, nil, nil
}

// take reopens the store for a process and its owner, in a new epoch. The former owner's store is
// lost. The caller holds mu.
func (s *SharedStore) take(process string, o engine.Owner) {
	s.store = s.store.Reopen()
	s.process, s.owner = process, o
	s.owner.Epoch = s.store.Epoch()
	s.change()
}

func (s *SharedStore) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Seize makes another server the owner.
func (s *SharedStore) Seize(o engine.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take("another", o)
}

// Owner returns the owner.
func (s *SharedStore) Owner() engine.Owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// Release leaves the namespace without an owner.
func (s *SharedStore) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = ""
	s.change()
}

// Fail makes opening fail, until it is called with nil.
func (s *SharedStore) Fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = why
	s.change()
}

func (s *SharedStore) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opens
}

// A borrowed is the store that one server has opened. It is usable until another server takes the
// namespace.
type borrowed struct {
	*memory.Store
	from    *SharedStore
	process string
}

// Lost is closed when the namespace is lost, unless the shared store is silent.
func (b *borrowed) Lost() <-chan struct{} {
	if b.from.silent {
		return nil
	}
	return b.Store.Lost()
}

// Owned reports whether the server believes that it owns the namespace.
func (b *borrowed) Owned() bool { return b.from.silent || b.Store.Owned() }

// Close releases the namespace.
func (b *borrowed) Close() error {
	b.from.mu.Lock()
	defer b.from.mu.Unlock()
	if b.from.store == b.Store && b.from.process == b.process {
		b.from.process = ""
		b.from.change()
		return nil // the shared store keeps its content
	}
	return b.Store.Close()
}
