package amqp

import (
	"cmp"
	"io"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// outgoing is a delivery on its way out.
type outgoing struct {
	delivery *engine.Delivery
	envelope carry.Envelope
	split    wire.Splitter
	body     io.ReadCloser // of a stream
	reading  bool          // the writer reads body, without the mutex
}

// held is a delivery that its client has not settled. Those of a link are in a
// list.
type held struct {
	to         *outlet
	id         uint32
	token      engine.LockToken
	asked      bool // its settlement is on the way
	next, prev *held
}

// hold notes that the client has the delivery id.
func (o *outlet) hold(id uint32, token engine.LockToken) {
	h := &held{to: o, id: id, token: token, next: o.first}
	if h.next != nil {
		h.next.prev = h
	}
	o.first = h
	o.unsettled++
	if o.s.deliveries == nil {
		o.s.deliveries = map[uint32]*held{}
	}
	o.s.deliveries[id] = h
}

// forget ends what is known of a delivery.
func (h *held) forget() {
	o := h.to
	delete(o.s.deliveries, h.id)
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		o.first = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	o.unsettled--
	o.s.c.line(o)
}

// delivered takes a delivery from the broker.
func (o *outlet) delivered(d *engine.Delivery) {
	o.granted--
	o.queue = append(o.queue, d)
	o.shed()
	o.s.c.line(o)
}

// write appends the next transfer of o, if it has one and the client has room.
func (o *outlet) write(buf []byte) (_ []byte, wrote bool) {
	s := o.s
	if o.over || o.current == nil && (len(o.queue) == 0 || o.credit == 0) {
		return buf, false
	}
	if s.outgoing == 0 {
		s.sticks(o)
		return buf, false
	}
	if o.current == nil {
		d := o.queue[0]
		o.queue[0], o.queue = nil, o.queue[1:]
		if len(o.queue) == 0 {
			o.queue = nil
		}
		if !o.prepare(d) {
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
	case o.over: // it went meanwhile
		cur.body.Close()
		s.c.mail.put(mail{kind: mailDelivered, out: o, delivery: cur.delivery}) // to be given back
		return buf, true
	case err != nil && s.c.ctx.Err() != nil: // the client has gone, and is about to be seen off
		return buf, false
	case err != nil:
		s.c.log.Error("a delivery cannot be written", "path", o.path, "seq", cur.delivery.Message.Seq, "err", err)
		// Its lock runs out and that counts, so that it does not stand in the way for ever.
		o.current = nil
		cur.done(s.c)
		o.fail(&wire.Error{Condition: wire.CondInternalError, Description: "A message cannot be read from the store."})
		return buf, true
	}
	s.outgoing -= min(s.outgoing, 1) // the client may have closed its window meanwhile
	s.nextOutgoing++
	if cur.split.Done() {
		o.current = nil
		cur.done(s.c)
	}
	return next, true
}

// done lets go of the body.
func (g *outgoing) done(c *conn) {
	if g.body != nil {
		g.body.Close()
	}
	c.b.Taken(*g.delivery)
}

// prepare makes d the current delivery. It lets go of the mutex while it opens a
// body in the store.
func (o *outlet) prepare(d *engine.Delivery) bool {
	s := o.s
	cur := &outgoing{delivery: d}
	if _, err := cur.envelope.Delivery(nil, d); err != nil {
		s.c.log.Error("a message in the store cannot be read", "path", o.path, "seq", d.Message.Seq, "err", err)
		s.c.b.Taken(*d)
		return false
	}
	if d.Body == nil && d.Content.BodySize() > 0 {
		body, err := o.fetch(d)
		switch {
		case o.over || s.c.ctx.Err() != nil: // it went meanwhile, or is about to
			if body != nil {
				body.Close()
			}
			s.c.mail.put(mail{kind: mailDelivered, out: o, delivery: d}) // to be given back
			return false
		case err != nil:
			// Its lock runs out and that counts, so that it does not stand in the way for ever.
			s.c.log.Error("a message was taken whose body cannot be read", "path", o.path, "seq", d.Message.Seq, "err", err)
			s.c.b.Taken(*d)
			return false
		}
		if body != nil {
			cur.body, cur.split.Stream, cur.split.StreamSize = body, cur.envelope.Stream(body), cur.envelope.BodySize()
		}
	}
	if cur.body == nil {
		cur.split.Body = cur.envelope.Body(d.Body)
	}
	cur.split.Head, cur.split.Tail = cur.envelope.Head, cur.envelope.Tail
	cur.split.Channel, cur.split.MaxFrame = s.channel, s.c.peer.maxFrame
	id := s.nextID
	s.nextID++
	t := wire.Transfer{Handle: o.handle, DeliveryID: wire.Some(id), MessageFormat: wire.Some[uint32](0), Settled: wire.Some(d.Deleted)}
	if d.Deleted {
		t.DeliveryTag = []byte{}
	} else {
		tag := wire.LockTag(d.Token())
		t.DeliveryTag = tag[:]
		o.hold(id, d.Token())
	}
	cur.split.Transfer = t
	o.current = cur
	o.messages++
	o.count++
	o.credit -= min(o.credit, 1) // which the client may have taken back meanwhile
	return true
}

// readTogether is for how many messages that wait bodies are read at once.
const readTogether = 64

// fetch gives d its body, or opens it if it is large, and reads those of what
// waits behind it together. It lets go of the mutex meanwhile.
func (o *outlet) fetch(d *engine.Delivery) (io.ReadCloser, error) {
	c := o.s.c
	all := []engine.Delivery{*d} // copies: what waits may be given back meanwhile
	for _, q := range o.queue[:min(len(o.queue), readTogether)] {
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
	for i, q := range o.queue[:min(len(o.queue), len(all)-1)] { // it has lost at its end only, or is over
		q.Body = all[i+1].Body
	}
	return body, err //nolint:wrapcheck // it says what it is about
}

// end forgets what the client has, and has what it has not seen whole given back
// once nothing more comes: that it had been on its way does not count (SES-7).
func (o *outlet) end(how engine.Closed) func() {
	leave := o.part(how)
	if leave == nil {
		return nil
	}
	return func() { leave(func() {}) }
}

// part is end that tells, to the writer and with the mutex held, when it is so
// for the broker too; nil: nothing is to be waited for.
func (o *outlet) part(how engine.Closed) (leave func(then func())) {
	c := o.s.c
	l, unseen := o.letGo()
	switch {
	case l != nil:
		return func(then func()) { c.detachLink(l, how, unseen, then) }
	case len(unseen) > 0: // the engine has ended the link
		return func(then func()) { c.giveBack(unseen); c.mail.do(then) }
	case o.attaching:
		return func(then func()) {
			c.mail.do(func() {
				o.parting = then
				o.takeLeave()
			})
		}
	}
	return nil
}

// takeLeave ends what the broker has attached for a client that is not there any
// more, once it has answered and somebody waits for that. Called with mu held.
func (o *outlet) takeLeave() {
	c, l, then := o.s.c, o.gone, o.parting
	if o.attaching || then == nil {
		return
	}
	o.gone, o.parting = nil, nil
	if l == nil {
		then()
		return
	}
	c.later = append(c.later, func() { c.detachLink(l, engine.ByClient, nil, then) })
}

// letGo forgets what the client has. What the broker still has for the link is to
// be detached, if there is something, and what the client has not seen whole to be
// given back.
func (o *outlet) letGo() (l *broker.Link, unseen []*engine.Delivery) {
	o.over = true
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
	for h := o.first; h != nil; h = h.next {
		delete(o.s.deliveries, h.id)
	}
	o.first, o.unsettled = nil, 0
	l = cmp.Or(o.broker, o.gone)
	o.broker, o.gone = nil, nil
	return l, unseen
}

// detachLink ends a receiver in the engine, gives back what its client has not
// seen once nothing more comes, and has then called by the writer with the mutex
// held.
func (c *conn) detachLink(l *broker.Link, how engine.Closed, unseen []*engine.Delivery, then func()) {
	c.work.Add(1)
	finish := func() {
		c.mail.do(then)
		c.work.Done()
	}
	err := l.SubmitDetach(c.s.ctx, how, func(err error) {
		if err == nil {
			finish()
			return
		}
		go func() { // nothing can be written now, or the broker is closed
			_ = l.Detach(c.s.ctx, how) //nolint:errcheck // nobody is left to tell, and its locks run out
			finish()
		}()
	})
	if err != nil {
		finish()
	}
	c.giveBack(unseen)
}

// giveBack returns deliveries that nobody has seen.
func (c *conn) giveBack(unseen []*engine.Delivery) {
	var back []engine.Settlement
	for _, d := range unseen {
		c.b.Taken(*d)
		if !d.Deleted {
			back = append(back, engine.Settlement{Token: d.Token(), Outcome: engine.Release, Path: d.Path, Client: c.client()})
		}
	}
	if len(back) > 0 {
		_ = c.b.SubmitSettle(c.s.ctx, back, func([]error, error) {}) //nolint:errcheck // their locks run out
	}
}
