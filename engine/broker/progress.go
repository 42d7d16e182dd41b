package broker

import (
	"context"
	"sync"
)

// Progress holds the number of the last event of a Log that a reader has processed, for callers
// that wait for it. The zero value means that it has processed none. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	n     uint64
	moved chan struct{} // closed when n changes; nil if no caller waits
}

// Set sets the number of the last event. It may be lower than before, in another epoch.
func (r *Progress) Set(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n = n
	if r.moved != nil {
		close(r.moved)
		r.moved = nil
	}
}

// Wait returns when event n or a later one was set, and when ctx is done.
func (r *Progress) Wait(ctx context.Context, n uint64) {
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

// until returns a channel that is closed when n changes, or nil if event n was set.
func (r *Progress) until(n uint64) <-chan struct{} {
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
