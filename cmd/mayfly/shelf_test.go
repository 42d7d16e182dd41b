package main

import (
	"context"
	"fmt"
	"sync"

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/memory"
)

// A shelf is a namespace that several servers share, in this process: what
// MongoDB is for several machines. One server at a time owns it.
type shelf struct {
	mu      sync.Mutex
	store   *memory.Store // of the present owner
	process string        // of the owner; empty: it was released
	owner   engine.Owner
	down    error         // what everybody is told who opens it
	changed chan struct{} // closed and made anew when owner or down changes
	opens   int
	silent  bool // a store does not notice that it is lost before it commits
	hangs   bool // nobody who opens it is answered
}

func newShelf() *shelf {
	return &shelf{store: new(memory.Store), changed: make(chan struct{})}
}

// open is storage.Open for the shelf.
func (s *shelf) open(ctx context.Context, _ string, o storage.Options) (engine.Store, error) {
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

func (s *shelf) claim(o storage.Options) (engine.Store, engine.Owner, <-chan struct{}, error) {
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

// take makes somebody the owner; the former one has lost everything.
func (s *shelf) take(process string, o engine.Owner) {
	s.store = s.store.Reopen()
	s.process, s.owner = process, o
	s.owner.Epoch = s.store.Epoch()
	s.change()
}

func (s *shelf) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// seize has another server own the namespace.
func (s *shelf) seize(o engine.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take("another", o)
}

// owned is what its owner has told.
func (s *shelf) owned() engine.Owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// release has nobody own it.
func (s *shelf) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = ""
	s.change()
}

// fail has nobody open it, until it is called with nil.
func (s *shelf) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = why
	s.change()
}

func (s *shelf) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opens
}

// A borrowed store is the shelf's for as long as its server owns it.
type borrowed struct {
	*memory.Store
	from    *shelf
	process string
}

// Lost is closed when the namespace is, unless the shelf is silent.
func (b *borrowed) Lost() <-chan struct{} {
	if b.from.silent {
		return nil
	}
	return b.Store.Lost()
}

// Owned is what the owner believes.
func (b *borrowed) Owned() bool { return b.from.silent || b.Store.Owned() }

// Close releases the namespace.
func (b *borrowed) Close() error {
	b.from.mu.Lock()
	defer b.from.mu.Unlock()
	if b.from.store == b.Store && b.from.process == b.process {
		b.from.process = ""
		b.from.change()
		return nil // the shelf keeps what is in it
	}
	return b.Store.Close()
}
