package amqp

// An outgoingLink is a link on which the server sends. The writer calls its methods with the
// connection's mutex held.
type outgoingLink interface {
	sendQueueState() *queueState
	// writeTransfer appends the next transfer to buf, or reports that there is none now. It may
	// unlock the mutex for a while.
	writeTransfer(buf []byte) (_ []byte, wrote bool)
	// nothingToWrite is called when writeTransfer has reported false. It returns a function that
	// asks the broker for more, or nil.
	nothingToWrite() (ask func())
}

// A queueState is the state of an outgoingLink in the send queues.
type queueState struct {
	queued  bool // it is in conn.sendQueue
	blocked bool // it is in session.windowBlocked: the session's window has no room
}

// queueToSend queues f for the writer. Called with mu held.
func (c *conn) queueToSend(f outgoingLink) {
	if p := f.sendQueueState(); !p.queued {
		p.queued = true
		c.sendQueue = append(c.sendQueue, f)
	}
}

// blockOnWindow makes f wait for room in the session's window.
func (s *session) blockOnWindow(f outgoingLink) {
	if p := f.sendQueueState(); !p.blocked {
		p.blocked = true
		s.windowBlocked = append(s.windowBlocked, f)
	}
}

// unblockWindow queues the links that waited for room in the window.
func (s *session) unblockWindow() {
	for _, f := range s.windowBlocked {
		f.sendQueueState().blocked = false
		s.c.queueToSend(f)
	}
	s.windowBlocked = nil
}

// appendTransfers appends transfers of the queued links, one of each in rotation, until no link has
// any left or buf has writeSize bytes. `more` reports the latter. Called with mu held, which it
// unlocks while it reads bodies from the store.
func (c *conn) appendTransfers(buf []byte) (_ []byte, more bool) {
	for len(c.sendQueue) > 0 {
		round := c.sendQueue
		c.sendQueue = c.spareSendQueue[:0]
		for i, f := range round {
			if len(buf) >= writeSize {
				c.sendQueue = append(round[i:], c.sendQueue...)
				c.spareSendQueue = nil
				return buf, true
			}
			f.sendQueueState().queued = false
			var wrote bool
			if buf, wrote = f.writeTransfer(buf); wrote {
				c.queueToSend(f)
			} else if ask := f.nothingToWrite(); ask != nil {
				c.queueWriterWork(ask)
			}
		}
		clear(round)
		if c.spareSendQueue = round; cap(round) > maxSpareSendQueue {
			c.spareSendQueue = nil
		}
	}
	return buf, false
}

// maxSpareSendQueue is the capacity above which appendTransfers does not keep a list of links for
// reuse.
const maxSpareSendQueue = 256
