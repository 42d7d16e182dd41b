package sqlite

import (
	"sync"

	"mayfly/engine"
)

// looseBodies is what is known of bodies that the file calls loose.
type looseBodies struct {
	mu      sync.Mutex
	staged  map[engine.Key]bool // by this process, and not referred to yet
	reading map[engine.Key]int  // readers of large bodies
	skipped bool                // a sweep has left one that was being read
}

func (l *looseBodies) stage(k engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.staged == nil {
		l.staged = map[engine.Key]bool{}
	}
	l.staged[k] = true
}

// stagedFor picks the contents whose bodies were staged.
func (l *looseBodies) stagedFor(cs []engine.StoredContent) (staged map[engine.Key]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.staged) == 0 {
		return nil
	}
	for _, c := range cs {
		if l.staged[c.Key] {
			if staged == nil {
				staged = map[engine.Key]bool{}
			}
			staged[c.Key] = true
		}
	}
	return staged
}

// taken says that these are loose no longer.
func (l *looseBodies) taken(staged map[engine.Key]bool) {
	if len(staged) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range staged {
		delete(l.staged, k)
	}
}

// unwanted says that nothing will refer to these, staged or not: their messages
// were refused. It tells whether a sweep should look.
func (l *looseBodies) unwanted(cs []engine.DroppedContent) (sweep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.staged) == 0 {
		return false
	}
	for _, c := range cs {
		sweep = sweep || l.staged[c.Key]
		delete(l.staged, c.Key)
	}
	return sweep
}

// sweepable tells whether k may be swept now.
func (l *looseBodies) sweepable(k engine.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading[k] > 0 {
		l.skipped = true
		return false
	}
	return !l.staged[k]
}

func (l *looseBodies) read(k engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading == nil {
		l.reading = map[engine.Key]int{}
	}
	l.reading[k]++
}

// unread tells whether a sweep should look again.
func (l *looseBodies) unread(k engine.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading[k]--; l.reading[k] > 0 {
		return false
	}
	delete(l.reading, k)
	again := l.skipped
	l.skipped = false
	return again
}
