package broker

import (
	"context"
	"sync"
)

// Reached is how far a follower has come with the events of a Log, for those who
// wait for it. The zero value has come to event zero. Safe for concurrent use.
type Reached struct {
	mu    sync.Mutex
	n     uint64
	moved chan struct{} // closed when n changes; nil: nobody waits
}

// Set says that event n was the last one; it may be a lower one, of another epoch.
func (r *Reached) Set(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n = n
	if r.moved != nil {
		close(r.moved)
		r.moved = nil
	}
}

// Wait returns when event n was Set, or a later one, and when ctx is done.
func (r *Reached) Wait(ctx context.Context, n uint64) {
	for {
		moved := r.until(n)
		if moved == nil {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// until is closed when there is something new; nil if event n was Set.
func (r *Reached) until(n uint64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n >= n {
		return nil
	}
	if r.moved == nil {
		r.moved = make(chan struct{})
	}
	return r.moved
}
