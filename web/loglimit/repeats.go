package loglimit

import (
	"strings"
	"sync"
	"time"
)

const (
	repeatInterval = 30 * time.Second // after which a line about a client is written again
	maxRepeats     = 1_000            // lines that are remembered
	maxPart        = 256              // bytes of each part of a Line that are kept and compared
)

// Repeats remembers which lines about clients were written lately. SDKs retry for minutes and
// hide the server's answers, so operators look for the reason in the server's log, and need it
// once. Its zero value is empty. It is safe for concurrent use.
type Repeats struct {
	mu   sync.Mutex
	last map[Line]time.Time // guarded by mu
}

// A Line identifies a line about a client. Lines with equal fields are the same.
type Line struct {
	Client  string // its address, without port
	Subject string // what the client asked for or calls itself; may be empty
	Reason  string
}

// First reports whether the same line was not written in the last 30 seconds, and notes
// that it is written now.
func (r *Repeats) First(l Line) bool {
	for _, part := range []*string{&l.Client, &l.Subject, &l.Reason} {
		*part = strings.Clone((*part)[:min(len(*part), maxPart)]) // clients write them
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.last[l]; ok && now.Sub(at) < repeatInterval {
		return false
	}
	if r.last == nil || len(r.last) >= maxRepeats {
		r.last = map[Line]time.Time{}
	}
	r.last[l] = now
	return true
}
