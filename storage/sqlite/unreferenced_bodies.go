package sqlite

import (
	"sync"

	"mayfly/engine"
)

// unreferencedBodies records which bodies in the table loose must not be swept, because this
// process has staged them or reads them.
type unreferencedBodies struct {
	mu      sync.Mutex
	staged  map[engine.Key]bool // staged by this process; no content refers to them yet
	readers map[engine.Key]int  // readers of large bodies
	skipped bool                // a sweep skipped a body that was being read
}

func (l *unreferencedBodies) addStaged(k engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.staged == nil {
		l.staged = map[engine.Key]bool{}
	}
	l.staged[k] = true
}

// stagedFor returns the keys of those contents in cs whose bodies this process has staged, or
// nil if there are none.
func (l *unreferencedBodies) stagedFor(cs []engine.StoredContent) (staged map[engine.Key]bool) {
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

// removeStaged removes bodies from the staged ones, because contents now refer to them or
// staging them failed.
func (l *unreferencedBodies) removeStaged(staged map[engine.Key]bool) {
	if len(staged) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range staged {
		delete(l.staged, k)
	}
}

// drop removes the contents cs, which no message refers to any more, from the staged bodies, so
// that a sweep may delete their bodies. It reports whether any of them was staged.
func (l *unreferencedBodies) drop(cs []engine.DroppedContent) (sweep bool) {
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

// sweepable reports whether k may be swept now.
func (l *unreferencedBodies) sweepable(k engine.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers[k] > 0 {
		l.skipped = true
		return false
	}
	return !l.staged[k]
}

func (l *unreferencedBodies) addReader(k engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers == nil {
		l.readers = map[engine.Key]int{}
	}
	l.readers[k]++
}

// removeReader records that a reader of k was closed, and reports whether a sweep should run
// again.
func (l *unreferencedBodies) removeReader(k engine.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers[k]--; l.readers[k] > 0 {
		return false
	}
	delete(l.readers, k)
	again := l.skipped
	l.skipped = false
	return again
}
