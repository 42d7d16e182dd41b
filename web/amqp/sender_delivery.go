package amqp

import (
	"cmp"
	"io"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// An outgoingDelivery is a delivery that is being written.
type outgoingDelivery struct {
	delivery *engine.Delivery
	envelope codec.Envelope
	split    wire.Splitter
	body     io.ReadCloser // of a streamed message
	reading  bool          // the writer is reading body, without the mutex
}

// An unsettledDelivery is a delivery that its client has not settled. The unsettled deliveries of a
// link form a list.
type unsettledDelivery struct {
	sender          *sender
	id              uint32
	token           engine.LockToken
	settling        bool         // its settlement is in progress
	settledByClient bool         // the client has settled it while its settlement was in progress
	transaction     *transaction // open transaction that settles it, or nil
	next, prev      *unsettledDelivery
}

// addUnsettled records that the client has to settle the delivery with this id.
func (o *sender) addUnsettled(id uint32, token engine.LockToken) {
	h := &unsettledDelivery{sender: o, id: id, token: token, next: o.unsettledList}
	if h.next != nil {
		h.next.prev = h
	}
	o.unsettledList = h
	o.unsettledCount++
	if o.s.unsettled == nil {
		o.s.unsettled = map[uint32]*unsettledDelivery{}
	}
	o.s.unsettled[id] = h
	if o.sessionRequest.Want != engine.NoSession && int64(o.unsettledCount) == o.s.c.b.Limits().SessionLocks {
		o.s.c.logSessionLocksReached(o)
	}
}

// remove removes a delivery, unless it has been removed.
func (h *unsettledDelivery) remove() {
	o := h.sender
	if o.s.unsettled[h.id] != h {
		return
	}
	delete(o.s.unsettled, h.id)
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		o.unsettledList = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	o.unsettledCount--
	o.updateUsage()
	o.s.c.queueToSend(o)
	o.s.c.retryLongestStarving()
}

// enqueueDelivery queues a delivery from the broker.
func (o *sender) enqueueDelivery(d *engine.Delivery) {
	o.brokerCredit--
	o.queue = append(o.queue, d)
	o.bodyBytes += int64(len(d.Body))
	o.updateUsage()
	o.returnExcess()
	o.s.c.queueToSend(o)
}

// writeTransfer appends the next transfer of o, if there is one and the session's window has room.
func (o *sender) writeTransfer(buf []byte) (_ []byte, wrote bool) {
	s := o.s
	if o.ended || o.current == nil && (len(o.queue) == 0 || o.credit == 0) {
		return buf, false
	}
	if s.remoteIncomingWindow == 0 {
		s.blockOnWindow(o)
		return buf, false
	}
	if o.current == nil {
		d := o.queue[0]
		o.queue[0], o.queue = nil, o.queue[1:]
		if len(o.queue) == 0 {
			o.queue = nil
		}
		o.bodyBytes -= int64(len(d.Body))
		prepared := o.beginDelivery(d)
		o.updateUsage()
		if !prepared {
			return buf, true
		}
	}
	cur := o.current
	if cur.body != nil {
		cur.reading = true
		s.c.mu.Unlock()
	}
	next, err := cur.split.Next(buf)
	if cur.body != nil {
		s.c.mu.Lock()
		cur.reading = false
	}
	switch {
	case o.ended: // the link has ended meanwhile
		cur.body.Close()
		s.c.mail.put(mailItem{kind: mailDelivered, sender: o, delivery: cur.delivery}) // returns it to the broker
		return buf, true
	case err != nil && s.c.ctx.Err() != nil: // the client has disconnected
		return buf, false
	case err != nil:
		s.c.log.Error("a delivery cannot be written", "path", o.path, "seq", cur.delivery.Message.Seq, "err", err)
		// The lock expires and the delivery counts, so that the message does not block
		// the entity for ever.
		o.current = nil
		cur.finish(s.c)
		o.detachWithError(&wire.Error{Condition: wire.CondInternalError, Description: "A message cannot be read from the store."})
		return buf, true
	}
	s.remoteIncomingWindow -= min(s.remoteIncomingWindow, 1) // the client may have closed its window meanwhile
	s.nextOutgoingID++
	if cur.split.Done() {
		o.current = nil
		cur.finish(s.c)
		o.updateUsage()
	}
	return next, true
}

// finish closes the body and reports to the broker that the delivery no longer needs it.
func (g *outgoingDelivery) finish(c *conn) {
	if g.body != nil {
		g.body.Close()
	}
	c.b.ReleaseBody(*g.delivery)
}

// beginDelivery makes d the current delivery. It reports false if d cannot be delivered, or if the
// link has ended meanwhile. It unlocks the mutex while it opens a body in the store.
func (o *sender) beginDelivery(d *engine.Delivery) bool {
	s := o.s
	cur := &outgoingDelivery{delivery: d}
	if err := encodeDelivery(&cur.envelope, d); err != nil {
		s.c.log.Error("a stored message cannot be read", "path", o.path, "seq", d.Message.Seq, "err", err)
		s.c.b.ReleaseBody(*d)
		return false
	}
	if d.Body == nil && d.Content.BodySize() > 0 {
		body, err := o.readBodies(d)
		switch {
		case o.ended || s.c.ctx.Err() != nil: // the link has ended meanwhile, or is about to
			if body != nil {
				body.Close()
			}
			s.c.mail.put(mailItem{kind: mailDelivered, sender: o, delivery: d}) // returns it to the broker
			return false
		case err != nil:
			// The lock expires and the delivery counts, so that the message does not
			// block the entity for ever.
			s.c.log.Error("a message was received and deleted whose body cannot be read", "path", o.path, "seq", d.Message.Seq, "err", err)
			s.c.b.ReleaseBody(*d)
			return false
		}
		if body != nil {
			cur.body, cur.split.Stream, cur.split.StreamSize = body, cur.envelope.EncodeStream(body), cur.envelope.BodySize()
		}
	}
	if cur.body == nil {
		cur.split.Body = cur.envelope.EncodeBody(d.Body)
	}
	cur.split.Head, cur.split.Tail = cur.envelope.Head, cur.envelope.Tail
	cur.split.Channel, cur.split.MaxFrame = s.channel, s.c.peer.maxFrame
	id := s.nextDeliveryID
	s.nextDeliveryID++
	t := wire.Transfer{Handle: o.handle, DeliveryID: wire.Some(id), MessageFormat: wire.Some[uint32](0), Settled: wire.Some(!d.Locked())}
	if !d.Locked() {
		// Empty, as in the service: Python's live test requires that there is no lock token, and
		// takes 16 bytes for one. A Rust client that refuses an empty tag must receive with
		// peek-lock (LOCK-2).
		t.DeliveryTag = []byte{}
	} else {
		tag := wire.TagOfLockToken(d.Token())
		t.DeliveryTag = tag[:]
		o.addUnsettled(id, d.Token())
	}
	cur.split.Transfer = t
	o.current = cur
	o.messages++
	o.deliveryCount++
	o.credit -= min(o.credit, 1) // the client may have withdrawn its credit meanwhile
	return true
}

// encodeDelivery encodes d into e. A browsed message is encoded like a peeked one (PEEK-8).
func encodeDelivery(e *codec.Envelope, d *engine.Delivery) (err error) {
	if d.Peeked {
		_, err = e.EncodePeeked(nil, &engine.Row{Message: d.Message, Content: d.Content, Path: d.Path, Expires: d.Expires})
	} else {
		_, err = e.EncodeDelivery(nil, d)
	}
	return err
}

// maxBodiesAtOnce is the maximum number of waiting messages whose bodies are read at once.
const maxBodiesAtOnce = 64

// readBodies reads the bodies of d and of the messages that wait in the queue. If d's body is
// large, it opens it instead and returns it; otherwise the result is nil. It unlocks the mutex
// meanwhile.
func (o *sender) readBodies(d *engine.Delivery) (io.ReadCloser, error) {
	c := o.s.c
	all := []engine.Delivery{*d} // copies, because waiting messages may be returned to the broker meanwhile
	for _, q := range o.queue[:min(len(o.queue), maxBodiesAtOnce)] {
		all = append(all, *q)
	}
	c.mu.Unlock()
	c.b.ReadBodies(c.ctx, all)
	var body io.ReadCloser
	var err error
	if all[0].Body == nil {
		if opened, failed := c.b.DeliveryBody(c.ctx, *d); failed == nil {
			body = opened
		} else {
			err = failed
		}
	}
	c.mu.Lock()
	d.Body = all[0].Body
	for i, q := range o.queue[:min(len(o.queue), len(all)-1)] { // the queue can only have lost messages at its end, or all
		o.bodyBytes += int64(len(all[i+1].Body) - len(q.Body))
		q.Body = all[i+1].Body
	}
	return body, err
}

// end drops the link's deliveries. The function that it returns detaches the link from the broker
// and returns the deliveries that the client has not received completely, without counting them
// (SES-7).
func (o *sender) end(how engine.DetachReason) func() {
	leave := o.endWith(how)
	if leave == nil {
		return nil
	}
	return func() { leave(func() {}) }
}

// endWith is like end, but the function that it returns takes a function `then`, which the writer
// calls with the mutex held when the link has ended for the broker too. It returns nil if there is
// nothing to wait for.
func (o *sender) endWith(how engine.DetachReason) (leave func(then func())) {
	c := o.s.c
	l, unseen := o.dropDeliveries()
	switch {
	case l != nil:
		return func(then func()) { c.detachFromBroker(l, how, unseen, then) }
	case len(unseen) > 0: // the engine has already ended the link
		return func(then func()) { c.returnDeliveries(unseen); c.mail.call(then) }
	case o.attachInProgress:
		return func(then func()) {
			c.mail.call(func() {
				o.afterAttach = then
				o.finishLateAttach()
			})
		}
	}
	return nil
}

// finishLateAttach ends a link that the broker attached after the client's link had ended. It does
// nothing before the broker has answered and afterAttach is set. Called with mu held.
func (o *sender) finishLateAttach() {
	c, l, then := o.s.c, o.endedBrokerLink, o.afterAttach
	if o.attachInProgress || then == nil {
		return
	}
	o.endedBrokerLink, o.afterAttach = nil, nil
	if l == nil {
		then()
		return
	}
	c.queueWriterWork(func() { c.detachFromBroker(l, engine.DetachedByClient, nil, then) })
}

// dropDeliveries drops the link's deliveries. It returns the broker's link, if there is one, for
// the caller to detach, and the deliveries that the client has not received completely, for the
// caller to return to the broker.
func (o *sender) dropDeliveries() (l *broker.Link, unseen []*engine.Delivery) {
	o.ended = true
	o.stopTimer()
	unseen = o.queue
	o.queue = nil
	if cur := o.current; cur != nil && !cur.reading {
		unseen = append(slices.Clip(unseen), cur.delivery)
		if cur.body != nil {
			cur.body.Close()
		}
	}
	o.current = nil
	for h := o.unsettledList; h != nil; h = h.next {
		delete(o.s.unsettled, h.id)
	}
	o.unsettledList, o.unsettledCount, o.bodyBytes = nil, 0, 0
	o.updateUsage()
	l = cmp.Or(o.brokerLink, o.endedBrokerLink)
	o.brokerLink, o.endedBrokerLink = nil, nil
	return l, unseen
}

// detachFromBroker detaches a link from the broker, and returns the deliveries that its client has
// not seen. When the link is detached, the writer calls `then` with the mutex held.
func (c *conn) detachFromBroker(l *broker.Link, how engine.DetachReason, unseen []*engine.Delivery, then func()) {
	c.background.Add(1)
	finish := func() {
		c.mail.call(then)
		c.background.Done()
	}
	err := l.SubmitDetach(c.s.ctx, how, func(err error) {
		if err == nil {
			finish()
			return
		}
		go func() { // nothing can be written at the moment, or the broker is closed
			_ = l.Detach(c.s.ctx, how) //nolint:errcheck // otherwise its locks expire
			finish()
		}()
	})
	if err != nil {
		finish()
	}
	c.returnDeliveries(unseen)
}

// returnDeliveries returns deliveries to the broker that the client has not seen.
func (c *conn) returnDeliveries(unseen []*engine.Delivery) {
	for _, d := range unseen {
		c.b.ReleaseBody(*d)
	}
	c.releaseLocks(unseen)
}

// releaseLocks releases the locks of deliveries that do not reach the client, which lacks their
// tokens. They do not count as deliveries (DC-3).
func (c *conn) releaseLocks(unseen []*engine.Delivery) {
	var back []engine.Settlement
	for _, d := range unseen {
		if d.Locked() {
			back = append(back, engine.Settlement{Token: d.Token(), Outcome: engine.Release, Path: d.Path, Client: c.clientName()})
		}
	}
	if len(back) > 0 {
		_ = c.b.SubmitSettle(c.s.ctx, back, func([]error, error) {}) //nolint:errcheck // otherwise their locks expire
	}
}
