// Package once lets something be done once that is asked for twice: by a form that is
// sent by a double click, or by one that is sent again because its answer was lost.
package once

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// most is how many words are remembered; the oldest is forgotten first, but none of
// what is still being done.
const most = 1000

// A Memory remembers what was done under words, and what came of it: the latest
// thousand, for as long as the process lives. Nothing of it is kept in a store: after
// a restart a word is new. Its zero value is ready, and it is safe for concurrent use.
type Memory[R any] struct {
	mu    sync.Mutex
	all   map[string]*deed[R] // guarded by mu
	order []string            // of all, the oldest first; guarded by mu
}

// A deed is what is done under one word.
type deed[R any] struct {
	over chan struct{} // closed when it has ended
	is   R             // once over
	done bool          // it ended well; once over
}

func (d *deed[R]) ended() bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}

// Do does act under a word, which has to be one that nobody guesses; an empty one is
// never remembered. Where that has been done already, or is being done, it is not done
// again: came is then what came of it, and again is set. What ends with an error, or in
// a panic, is forgotten, so that it can be tried again under the same word. The error
// is act's, or that of a ctx that ends while another does it.
func (m *Memory[R]) Do(ctx context.Context, word string, act func() (R, error)) (came R, again bool, err error) {
	if word == "" {
		came, err = act()
		return came, false, err
	}
	for {
		is, mine := m.begin(word)
		if mine {
			came, err = m.act(word, is, act)
			return came, false, err
		}
		select {
		case <-is.over:
		case <-ctx.Done():
			return came, false, fmt.Errorf("wait for what is being done already: %w", context.Cause(ctx))
		}
		if is.done {
			return is.is, true, nil
		}
	}
}

// act does what is begun under a word, and ends it.
func (m *Memory[R]) act(word string, is *deed[R], act func() (R, error)) (came R, err error) {
	defer m.end(word, is)
	if is.is, err = act(); err != nil {
		return came, err
	}
	is.done = true
	return is.is, nil
}

// begin is what is done under a word; mine says that the caller does it.
func (m *Memory[R]) begin(word string) (is *deed[R], mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.all[word]; is != nil {
		return is, false
	}
	if m.all == nil {
		m.all = map[string]*deed[R]{}
	}
	for len(m.order) >= most {
		i := slices.IndexFunc(m.order, func(w string) bool { return m.all[w].ended() })
		if i < 0 {
			break
		}
		delete(m.all, m.order[i])
		m.order = slices.Delete(m.order, i, i+1)
	}
	is = &deed[R]{over: make(chan struct{})}
	m.all[word] = is
	m.order = append(m.order, word)
	return is, true
}

// end wakes those that wait for a deed, and forgets one that came to nothing.
func (m *Memory[R]) end(word string, is *deed[R]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !is.done && m.all[word] == is {
		delete(m.all, word)
		for i, w := range m.order {
			if w == word {
				m.order = append(m.order[:i:i], m.order[i+1:]...)
				break
			}
		}
	}
	close(is.over)
}
