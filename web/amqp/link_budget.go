package amqp

import (
	"fmt"
	"sync/atomic"
	"time"

	"mayfly/web/amqp/wire"
)

// One budget of the process bounds the memory of the links, sessions and deliveries of all
// clients. A connection may take as many bytes as it leaves free for others: a single one
// takes at most half of the budget, two take a third each. So a greedy client always
// leaves room for new ones. The costs below are in bytes. They are measured with heap
// profiles, include the engine's part, and are rounded up.
const (
	linkCost       = 2 << 10 // of a link with its name, which is cut to maxNameLength
	sessionCost    = 1 << 10 // of an AMQP session
	selectorBase   = 1 << 10 // of a selector, and selectorFactor for each byte of its text; punctuation alone takes 67 a byte
	selectorFactor = 80
	deliveryCost   = 192 // of an unsettled delivery; bodies that wait to be written count in addition

	// Where tokens are enforced, connections without a valid token may together take the budget
	// divided by withoutTokenShare, and each of them withoutTokenBytes bytes.
	withoutTokenShare = 8
	withoutTokenBytes = 1 << 20
)

// A linkBudget counts the bytes taken. It is safe for concurrent use.
type linkBudget struct {
	byteLimit
	withoutToken atomic.Int64 // bytes taken by connections without a valid token
}

// linkBudgetLeft returns how many more bytes the connection may take of the budget. It is negative
// if the connection has too many. Called with mu held.
func (c *conn) linkBudgetLeft() int64 {
	b := &c.s.linkBudget
	room := (b.maxBytes.Load() - b.taken.Load() - c.linkUsage.bytes) / 2
	if c.needsToken.Load() {
		room = min(room, withoutTokenBytes-c.linkUsage.bytes, b.maxBytes.Load()/withoutTokenShare-b.withoutToken.Load())
	}
	return room
}

// addLinkBytes adds n bytes, which may be negative, to those that the connection has taken of
// the budget. Called with mu held.
func (c *conn) addLinkBytes(n int64) {
	c.linkUsage.bytes += n
	c.s.linkBudget.taken.Add(n)
	if c.needsToken.Load() {
		c.s.linkBudget.withoutToken.Add(n)
	}
}

// overBudget returns the error for a client whose attach or begin does not fit into the budget.
// `what` is "link" or "session". Called with mu held.
func (c *conn) overBudget(what string) *wire.Error {
	return &wire.Error{Condition: wire.CondResourceLimitExceeded, Description: fmt.Sprintf(
		"The server has no memory for another %s: the connection already takes %d KiB for %d links, %d sessions and unsettled deliveries. Raise --limit link-bytes.",
		what, c.linkUsage.bytes>>10, c.links, len(c.sessions))}
}

// A linkUsage is the part of the budget that a connection has taken, and its receivers that
// wait for more. It is guarded by the connection's mutex.
type linkUsage struct {
	bytes    int64
	starving []*sender   // in the order in which they began to wait; some may have stopped waiting
	retry    *time.Timer // runs retryStarving; nil if it is not set
}

// affordableCredit returns how much of the credit n the budget allows the sender to ask the broker
// for. It returns at least 1 for a sender without any deliveries, so that each makes progress.
func (o *sender) affordableCredit(n int) int {
	n = int(min(int64(n), max(0, o.s.c.linkBudgetLeft()/deliveryCost)))
	if n == 0 && o.brokerCredit+len(o.queue)+o.unsettledCount == 0 {
		n = 1
	}
	return n
}

// updateUsage updates the bytes that the sender has taken from the budget. Called with mu held.
func (o *sender) updateUsage() {
	n := int64(0)
	if !o.ended {
		has := len(o.queue) + o.unsettledCount
		if o.brokerLink != nil {
			has += o.brokerCredit
		}
		if o.current != nil && !o.current.delivery.Locked() {
			has++
		}
		n = int64(has)*deliveryCost + o.bodyBytes
	}
	if n != o.countedBytes {
		o.s.c.addLinkBytes(n - o.countedBytes)
		o.countedBytes = n
	}
}

// waitForMemory makes o wait for memory that other receivers free. Called with mu held.
func (o *sender) waitForMemory() {
	c := o.s.c
	if o.waitsForMemory {
		return
	}
	o.waitsForMemory = true
	c.linkUsage.starving = append(c.linkUsage.starving, o)
	if o.drain {
		c.queueToSend(o) // answers the drain without more deliveries
	}
	c.logWaitsForMemory(o)
	if c.linkUsage.retry == nil && c.ctx.Err() == nil {
		c.linkUsage.retry = time.AfterFunc(retryInterval, func() { c.mail.call(c.retryStarving) }) // other connections free memory too
	}
}

// retryStarving lets all receivers that wait for memory try again. Called with mu held.
func (c *conn) retryStarving() {
	c.linkUsage.retry = nil
	for len(c.linkUsage.starving) > 0 {
		c.retryLongestStarving()
	}
}

// retryLongestStarving lets the receiver that has waited longest for memory try again. Called with mu
// held.
func (c *conn) retryLongestStarving() {
	for len(c.linkUsage.starving) > 0 {
		o := c.linkUsage.starving[0]
		c.linkUsage.starving[0], c.linkUsage.starving = nil, c.linkUsage.starving[1:]
		if o.waitsForMemory && !o.ended {
			o.waitsForMemory = false
			c.queueToSend(o)
			return
		}
	}
	c.linkUsage.starving = nil
}

// A linkUse states whether a link is in use. setLinkUse adds up the links of a connection for the
// budget of connections. It is guarded by the connection's mutex.
type linkUse struct {
	attached  bool // the link is attached to an entity
	hasCredit bool // the link had credit after its last flow
}

func (w *linkUse) weigh() *linkUse { return w }

// setLinkUse changes the use of a link, and reports the use of the whole connection to the budget
// if it changes. Called with mu held.
func (c *conn) setLinkUse(was *linkUse, is linkUse) {
	count := func(n *int, was, is bool) {
		switch {
		case is && !was:
			*n++
		case was && !is:
			*n--
		}
	}
	linked, credited := c.entityLinks > 0, c.creditedLinks > 0
	count(&c.entityLinks, was.attached, is.attached)
	count(&c.creditedLinks, was.attached && was.hasCredit, is.attached && is.hasCredit)
	*was = is
	if linked != (c.entityLinks > 0) || credited != (c.creditedLinks > 0) {
		c.connLimit.Use(c.entityLinks > 0, c.creditedLinks > 0)
	}
}
