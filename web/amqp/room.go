package amqp

import (
	"context"

	"mayfly/engine"
)

// What waits for credit. A client that does not take its answers has nothing more
// done that it asks for, and is answered so as long as there is room for that; past
// it the oldest answers of a link go.
const (
	mostReplies    = 1_000    // of a link
	mostReplyBytes = 16 << 20 // of a connection, waiting and being made, for something to be done
	mostUnheard    = 32 << 20 // of a connection, unless it is one answer
)

// unanswered is why nothing is done of what a client asks for that does not take
// its answers; nil: it does.
func (c *conn) unanswered() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unheard <= mostReplyBytes {
		return nil
	}
	return &engine.Refusal{Kind: engine.ErrBusy, Text: "Too much waits to be told to the client, which gives no credit for it."}
}

// makeRoom counts the n bytes that the answer to m will have, before it is made:
// each link of a connection has its requests served for itself, and all of them may
// ask for much at the same time. It waits until there is room, for answers that are
// made to be told and for the client to hear them, which it may never do. It is
// called once for a request, for who waits must have nothing that others wait for.
func (c *conn) makeRoom(ctx context.Context, m *request, n int64) error {
	for {
		c.mu.Lock()
		if int64(c.unheard)+c.making <= mostReplyBytes {
			c.making += n
			m.making = n
			c.mu.Unlock()
			return nil
		}
		if c.less == nil {
			c.less = make(chan struct{})
		}
		less := c.less
		c.mu.Unlock()
		select {
		case <-less:
		case <-ctx.Done():
			return &engine.Refusal{Kind: engine.ErrBusy, Text: "There is no room for the answer beside those that the client has not taken."}
		}
	}
}

// leaveRoom takes back what makeRoom counted: the answer waits for credit, or there
// is none. Called with mu held.
func (c *conn) leaveRoom(m *request) {
	c.making -= m.making
	m.making = 0
	c.roomier()
}

// hear counts n bytes of answers that do not wait for credit any more. Called with
// mu held.
func (c *conn) hear(n int) {
	c.unheard -= n
	c.roomier()
}

// roomier has those look again who wait for room. Called with mu held.
func (c *conn) roomier() {
	if c.less != nil {
		close(c.less)
		c.less = nil
	}
}
