package amqp

import "sync"

// A line is work that one goroutine does in order, which is there as long as
// something is to be done. Its zero value is empty. It is guarded by a mutex of
// whoever has it, which the work itself is done without.
//
// INVARIANT: what is being done is still first in line, so that nobody begins to
// serve a line that is served.
type line struct{ work []func() }

// add has do be done behind all that is in line. If it says that the line is idle,
// serve is to be called, by a goroutine of its own.
func (l *line) add(do func()) (idle bool) {
	l.work = append(l.work, do)
	return len(l.work) == 1
}

// len is how much is not done, with what is being done.
func (l *line) len() int { return len(l.work) }

// serve does what is in line until there is nothing. It takes mu, with which the
// line is guarded, and lets go of it while it does something.
func (l *line) serve(mu sync.Locker) {
	mu.Lock()
	defer mu.Unlock()
	for len(l.work) > 0 {
		do := l.work[0]
		mu.Unlock()
		do()
		mu.Lock()
		l.work[0], l.work = nil, l.work[1:]
	}
	l.work = nil
}

// enter adds to a line that c guards, and sees to it that it is served. Called
// with mu held.
func (c *conn) enter(l *line, do func()) {
	if l.add(do) {
		c.serve(l)
	}
}

// serve has a line that c guards be served.
func (c *conn) serve(l *line) { c.work.Go(func() { l.serve(&c.mu) }) }
