// Package idempotency executes an operation only once if it is requested twice: by a double click,
// or by a form that is sent again because its answer was lost.
package idempotency

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxKeys is how many keys are remembered. The oldest is forgotten first, but none whose
// operation is still running.
const maxKeys = 1000

// A Cache remembers the results of operations by their keys: the latest thousand, for as long
// as the process lives. Nothing is stored: after a restart all keys are new. Its zero value is
// ready to use, and it is safe for concurrent use.
type Cache[R any] struct {
	mu    sync.Mutex
	all   map[string]*operation[R] // guarded by mu
	order []string                 // of all, the oldest first; guarded by mu
}

// An operation is the operation under one key.
type operation[R any] struct {
	finished  chan struct{} // closed when it has ended
	result    R             // its result; valid once finished is closed
	succeeded bool          // it succeeded; valid once finished is closed
}

func (d *operation[R]) hasEnded() bool {
	select {
	case <-d.finished:
		return true
	default:
		return false
	}
}

// Do calls `act` and remembers its result under the key `word`, which must be impossible to guess. If
// an operation under the same key has succeeded or is running, Do returns that operation's result and
// true instead. An operation that ends with an error or a panic is forgotten, so that it can be
// retried under the same key. An empty key is never remembered. The error is that of `act`, or the
// cause for which ctx ended while another call ran the operation.
func (m *Cache[R]) Do(ctx context.Context, word string, act func() (R, error)) (came R, again bool, err error) {
	if word == "" {
		came, err = act()
		return came, false, err
	}
	for {
		is, mine := m.begin(word)
		if mine {
			came, err = m.run(word, is, act)
			return came, false, err
		}
		select {
		case <-is.finished:
		case <-ctx.Done():
			return came, false, fmt.Errorf("wait for an earlier request with the same key: %w", context.Cause(ctx))
		}
		if is.succeeded {
			return is.result, true, nil
		}
	}
}

// run calls `act` for the operation `is` under the key `word`, stores the result, and ends the
// operation.
func (m *Cache[R]) run(word string, is *operation[R], act func() (R, error)) (came R, err error) {
	defer m.end(word, is)
	if is.result, err = act(); err != nil {
		return came, err
	}
	is.succeeded = true
	return is.result, nil
}

// begin returns the operation under the key `word`. If there is none, it adds one, and returns true:
// then the caller must run it.
func (m *Cache[R]) begin(word string) (is *operation[R], mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.all[word]; is != nil {
		return is, false
	}
	if m.all == nil {
		m.all = map[string]*operation[R]{}
	}
	for len(m.order) >= maxKeys {
		i := slices.IndexFunc(m.order, func(w string) bool { return m.all[w].hasEnded() })
		if i < 0 {
			break
		}
		delete(m.all, m.order[i])
		m.order = slices.Delete(m.order, i, i+1)
	}
	is = &operation[R]{finished: make(chan struct{})}
	m.all[word] = is
	m.order = append(m.order, word)
	return is, true
}

// end wakes the callers that wait for an operation, and forgets one that failed.
func (m *Cache[R]) end(word string, is *operation[R]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !is.succeeded && m.all[word] == is {
		delete(m.all, word)
		for i, w := range m.order {
			if w == word {
				m.order = append(m.order[:i:i], m.order[i+1:]...)
				break
			}
		}
	}
	close(is.finished)
}
