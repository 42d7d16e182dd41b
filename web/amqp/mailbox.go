package amqp

import (
	"sync"

	"mayfly/engine"
)

// A mailbox passes events of the broker to a connection. Putting an event in never waits
// for the connection.
type mailbox struct {
	signal chan struct{} // has an element when the writer should check the mailbox

	mu    sync.Mutex
	items []mailItem
}

type mailKind uint8

const (
	mailDelivered       mailKind = iota // the broker has delivered delivery to sender
	mailSessionAccepted                 // sender has got its session, which accepted describes
	mailLinkEnded                       // sender has ended because of err
	mailCall                            // call is to be called with the connection's mutex held
)

// mailItem is one event.
type mailItem struct {
	kind     mailKind
	sender   *sender
	delivery *engine.Delivery
	accepted engine.SessionAccepted
	err      error
	call     func()
}

func newMailbox() mailbox { return mailbox{signal: make(chan struct{}, 1)} }

// put adds m and wakes the writer. It never blocks.
func (b *mailbox) put(m mailItem) {
	b.mu.Lock()
	b.items = append(b.items, m)
	b.mu.Unlock()
	b.wakeWriter()
}

// call makes the writer call f with the connection's mutex held, after earlier mail.
func (b *mailbox) call(f func()) { b.put(mailItem{kind: mailCall, call: f}) }

// wakeWriter wakes the writer, which handles mail and writes frames. It never blocks.
func (b *mailbox) wakeWriter() {
	select {
	case b.signal <- struct{}{}:
	default: // the writer is about to check
	}
}

// take empties the mailbox and returns its items. It clears `used`, the result of an earlier call,
// and stores the next items in it.
func (b *mailbox) take(used []mailItem) []mailItem {
	clear(used)
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.items
	b.items = used[:0]
	return out
}

// A workQueue is a queue of functions that one goroutine calls in order, as long as the queue
// is not empty. Its zero value is empty. It is guarded by a mutex of its owner, which is
// not held during the calls.
//
// INVARIANT: the running function is still first in the queue, so that a queue is not served
// twice.
type workQueue struct{ funcs []func() }

// add adds a function to the end. If it returns true, the queue was idle, and the caller must start
// run in a goroutine.
func (l *workQueue) add(do func()) (idle bool) {
	l.funcs = append(l.funcs, do)
	return len(l.funcs) == 1
}

// len returns the number of queued functions, including the running one.
func (l *workQueue) len() int { return len(l.funcs) }

// run calls the queued functions until there are none. It locks mu, which guards the
// queue, and unlocks it during the calls.
func (l *workQueue) run(mu sync.Locker) {
	mu.Lock()
	defer mu.Unlock()
	for len(l.funcs) > 0 {
		do := l.funcs[0]
		mu.Unlock()
		do()
		mu.Lock()
		l.funcs[0], l.funcs = nil, l.funcs[1:]
	}
	l.funcs = nil
}

// enqueueWork adds do to a queue that c.mu guards, and starts running the queue if it is idle.
// Called with mu held.
func (c *conn) enqueueWork(l *workQueue, do func()) {
	if l.add(do) {
		c.startQueue(l)
	}
}

// startQueue starts running a queue that c.mu guards.
func (c *conn) startQueue(l *workQueue) { c.background.Go(func() { l.run(&c.mu) }) }
