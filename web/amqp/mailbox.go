package amqp

import (
	"sync"

	"mayfly/engine"
)

// A mailbox is how the broker tells a connection things. Putting something in
// never waits for the connection.
type mailbox struct {
	bell chan struct{} // has an element when the writer is to look

	mu   sync.Mutex
	list []mail
}

type mailKind uint8

const (
	mailDelivered mailKind = iota // delivery for out
	mailAccepted                  // out has its session
	mailEnded                     // out has ended because of err
	mailDo                        // do is to be called with the connection's mutex held
)

// mail is one thing that the broker tells.
type mail struct {
	kind     mailKind
	out      *outlet
	delivery *engine.Delivery
	accepted engine.SessionAccepted
	err      error
	do       func()
}

func newMailbox() mailbox { return mailbox{bell: make(chan struct{}, 1)} }

// put never blocks.
func (b *mailbox) put(m mail) {
	b.mu.Lock()
	b.list = append(b.list, m)
	b.mu.Unlock()
	b.ring()
}

// do has f be called by the writer with the connection's mutex held, after what
// was put in before.
func (b *mailbox) do(f func()) { b.put(mail{kind: mailDo, do: f}) }

// ring has the writer look.
func (b *mailbox) ring() {
	select {
	case b.bell <- struct{}{}:
	default: // it is about to
	}
}

// take empties the box; used is a list that it may use from now on.
func (b *mailbox) take(used []mail) []mail {
	clear(used)
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.list
	b.list = used[:0]
	return out
}
