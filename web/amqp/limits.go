package amqp

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// limits bound the resources that the clients of a namespace may use.
type limits struct {
	connections     int    // of the namespace
	sessions        int    // of a connection
	links           int    // of a connection
	unsettled       int    // deliveries of a link that its client has not settled; zero means no limit
	frameSize       uint32 // maximum size of a client's frame in bytes
	incompleteBytes int64  // bytes for incomplete messages
	linkBytes       int64  // bytes for links, sessions and unsettled deliveries
}

const (
	maxSessions = 1 << 16  // the number of channels
	maxFrameIn  = 16 << 20 // bytes; a frame is in memory as a whole
)

// limitsOf returns the limits in l, with defaults for zeros.
func limitsOf(l engine.Limits) limits {
	d := engine.DefaultLimits()
	return limits{
		connections:     int(cmp.Or(l.Connections, d.Connections)),
		sessions:        int(min(cmp.Or(l.ConnectionSessions, d.ConnectionSessions), maxSessions)),
		links:           int(cmp.Or(l.ConnectionLinks, d.ConnectionLinks)),
		unsettled:       int(l.LinkUnsettled),
		frameSize:       uint32(min(max(cmp.Or(l.FrameSize, d.FrameSize), wire.MinMaxFrameSize), maxFrameIn)),
		incompleteBytes: cmp.Or(l.IncompleteBytes, d.IncompleteBytes),
		linkBytes:       cmp.Or(l.LinkBytes, d.LinkBytes),
	}
}

// byteLimit counts bytes up to a maximum. It is safe for concurrent use.
type byteLimit struct {
	maxBytes atomic.Int64
	taken    atomic.Int64
}

func (m *byteLimit) take(n int64) bool {
	if m.taken.Add(n) <= m.maxBytes.Load() {
		return true
	}
	m.taken.Add(-n)
	return false
}

// incomingMemory counts the memory of incomplete messages and of messages that wait for the broker.
// It is safe for concurrent use.
type incomingMemory struct {
	byteLimit

	mu        sync.Mutex
	byAddress map[string]int64 // taken, by client address; guarded by mu
}

// takeForClient takes n bytes for a connection that already has `own` bytes, and reports whether
// there was room. As in origin.BodyBudget, several connections of an address get more than a
// quarter of the memory only if half of it stays free for others. There is no such bound for an
// empty address.
func (m *incomingMemory) takeForClient(address string, own, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	most, by := m.maxBytes.Load(), m.byAddress[address]
	if address != "" && by > own && by+n > most/4 && m.taken.Load()+n > most/2 || !m.take(n) {
		return false
	}
	m.count(address, n)
	return true
}

func (m *incomingMemory) give(address string, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken.Add(-n)
	m.count(address, -n)
}

// count adds n to the bytes that an address has taken. Called with mu held.
func (m *incomingMemory) count(address string, n int64) {
	if address == "" {
		return
	}
	if m.byAddress == nil {
		m.byAddress = map[string]int64{}
	}
	if m.byAddress[address] += n; m.byAddress[address] == 0 {
		delete(m.byAddress, address)
	}
}

// takeIncomingBytes counts n bytes that the connection keeps of its client's messages, or returns an
// error if there is no room. No connection gets more than half of the memory, so that
// some is left for the others.
func (c *conn) takeIncomingBytes(n int64) error {
	if c.needsToken.Load() && c.incomingBytes.Load()+n > maxBytesWithoutToken {
		return errWithoutToken()
	}
	switch kept := c.incomingBytes.Add(n); {
	case kept > c.s.incomingMemory.maxBytes.Load()/2:
	case c.s.incomingMemory.takeForClient(c.network, kept-n, n):
		return nil
	}
	c.incomingBytes.Add(-n)
	return engine.Refuse(engine.ErrBusy, "The server has no memory for more partly received messages. Try again later.")
}

// giveIncomingBytes reverses takeIncomingBytes.
func (c *conn) giveIncomingBytes(n int64) {
	c.incomingBytes.Add(-n)
	c.s.incomingMemory.give(c.network, n)
}

// giveAllIncomingBytes reverses every takeIncomingBytes, when the connection ends.
func (c *conn) giveAllIncomingBytes() { c.s.incomingMemory.give(c.network, c.incomingBytes.Swap(0)) }

// Limits on replies that wait for credit. While a client does not give credit for its
// replies, its new requests are refused, and the refusals are queued as long as there is
// room. After that the oldest replies of a link are dropped.
const (
	maxReplies          = 1_000    // of a link
	maxReplyBytes       = 16 << 20 // of a connection, waiting or being made; further requests are refused or wait
	maxQueuedReplyBytes = 32 << 20 // of a connection, unless it has only one reply
)

// checkReplyBacklog returns an error if the replies that wait for the client's credit have more
// than maxReplyBytes, so that its next request must be refused.
func (c *conn) checkReplyBacklog() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queuedReplyBytes <= maxReplyBytes {
		return nil
	}
	return engine.Refuse(engine.ErrBusy, "Too many answers are waiting for the client, which has given no credit for them.")
}

// reserveReplyBytes reserves n bytes for the reply to m before the reply is made, because the links
// of a connection are served concurrently, and all of them may ask for large replies. It waits
// until there is room, that is, for replies being made to be queued and for the client to read
// others, which it may never do. Call it at most once for a request, because a request that waits
// must hold nothing that others wait for.
func (c *conn) reserveReplyBytes(ctx context.Context, m *request, n int64) error {
	for {
		c.mu.Lock()
		if int64(c.queuedReplyBytes)+c.reservedReplyBytes <= maxReplyBytes {
			c.reservedReplyBytes += n
			m.reservedReplyBytes = n
			c.mu.Unlock()
			return nil
		}
		if c.replySpace == nil {
			c.replySpace = make(chan struct{})
		}
		freed := c.replySpace
		c.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return engine.Refuse(engine.ErrBusy, "The answer does not fit beside those that are still waiting for the client.")
		}
	}
}

// releaseReplyBytes releases the bytes that reserveReplyBytes reserved, after the reply has been
// queued or has failed. Called with mu held.
func (c *conn) releaseReplyBytes(m *request) {
	c.reservedReplyBytes -= m.reservedReplyBytes
	m.reservedReplyBytes = 0
	c.signalReplySpace()
}

// subtractQueuedReplyBytes counts n bytes of replies that no longer wait for credit. Called with mu held.
func (c *conn) subtractQueuedReplyBytes(n int) {
	c.queuedReplyBytes -= n
	c.signalReplySpace()
}

// signalReplySpace wakes the goroutines that wait for room. Called with mu held.
func (c *conn) signalReplySpace() {
	if c.replySpace != nil {
		close(c.replySpace)
		c.replySpace = nil
	}
}
