package amqp

import (
	"bytes"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

const cbsAddress = "$cbs"

// attachCBS attaches one of the two links of $cbs.
func (s *session) attachCBS(a *wire.Attach) {
	if a.Role == wire.RoleReceiver {
		s.attachReplyLink(a, cbsAddress)
		return
	}
	for _, other := range s.c.sessions {
		for _, l := range other.links {
			if r, ok := l.link.(*requestLink); ok && r.node == cbsAddress {
				s.refuseAttach(a, &wire.Error{Condition: wire.CondNotAllowed, Description: "The connection already has a link to $cbs."})
				return
			}
		}
	}
	s.attachRequestLink(a, cbsAddress, maxTokenSize, (*requestLink).putToken)
}

// requestLink is a link on which a client sends requests.
type requestLink struct {
	messageCount
	linkUse
	s              *session
	handle         uint32
	node           string // address of the node in lower case
	path           engine.Path
	maxRequestSize uint64 // maximum size of a request in bytes
	handler        func(r *requestLink, m *request)

	deliveryCount, credit uint32
	partial               partialDelivery
	queue                 workQueue // requests waiting to be served
	ended                 bool
}

// request is a request to $management or $cbs.
type request struct {
	id                    value.Value // of the message; the correlation-id of the reply
	replyTo               string
	applicationProperties value.Properties
	body                  []byte       // the encoded value of the body; nil if there is none
	tx                    *transaction // the transaction that the request belongs to, or nil
	s                     *session     // the session on which the request arrived
	countedBytes          int64        // bytes counted for the request until it is answered
	reservedReplyBytes    int64        // bytes counted for the reply until it is made
	settle                func()       // settles the request after its reply is written; nil once it is settled
}

const (
	requestCredit = 1_000

	// maxRequestSize is the maximum size of a request in bytes: one that schedules a message
	// of the largest size, and some overhead.
	maxRequestSize = 101 << 20

	// maxTokenSize is the maximum size of a request with a token, which clients send before they
	// are authorized.
	maxTokenSize = 64 << 10

	// requestCost is the memory of a waiting request besides its bytes.
	requestCost = 4 << 10
)

func (s *session) attachRequestLink(a *wire.Attach, node string, most uint64, serve func(*requestLink, *request)) *requestLink {
	r := &requestLink{s: s, handle: a.Handle, node: node, maxRequestSize: most, handler: serve, credit: requestCredit}
	s.addLink(a, r, 0)
	if node != cbsAddress {
		s.c.setLinkUse(&r.linkUse, linkUse{attached: true})
	}
	s.send(s.attachAnswer(a))
	r.sendCredit()
	return r
}

func (r *requestLink) sendCredit() {
	r.s.sendFlow(&wire.Flow{Handle: wire.Some(r.handle), DeliveryCount: wire.Some(r.deliveryCount), LinkCredit: wire.Some(r.credit)})
}

func (r *requestLink) handleFlow(f *wire.Flow) {
	if f.Echo {
		r.sendCredit()
	}
}

func (r *requestLink) end(engine.DetachReason) func() {
	r.ended = true
	r.partial.finish(r.s.c)
	return nil
}

func (r *requestLink) handleTransfer(t *wire.Transfer) error {
	d, c := &r.partial, r.s.c
	begins, why := d.addTransfer(t)
	if why == nil && begins && r.credit == 0 {
		why = &wire.Error{Condition: wire.CondTransferLimitExceeded, Description: "The link has no credit for more messages."}
	}
	if why != nil {
		r.s.detachForViolation(r.handle, why)
		return nil
	}
	if begins {
		r.deliveryCount++
		r.messages++
		if r.credit--; r.credit <= requestCredit/2 {
			r.credit = requestCredit
			r.sendCredit()
		}
	}
	switch {
	case t.Aborted:
		d.finish(c)
		return nil
	case d.size > r.maxRequestSize:
		d.refuse(c, tooLargeError(r.maxRequestSize))
	case t.More && d.refused == nil:
		if err := d.bufferPiece(c, t.Payload); err != nil {
			d.refuse(c, errorOf(err))
		}
	}
	if t.More {
		return nil
	}
	defer d.finish(c)
	var state wire.State = wire.Accepted{}
	var m *request
	tx, unknown := c.transactionOf(d.state) // the error is answered like any other
	var err error
	if d.refused == nil {
		m, err = decodeRequest(d.payload(t.Payload))
	}
	if err == nil && d.refused == nil {
		d.dropBytes(c) // the request has copies of the bytes
		m.countedBytes = int64(d.size) + requestCost
		err = c.takeIncomingBytes(m.countedBytes)
	}
	switch {
	case d.refused != nil:
		state = wire.Rejected{Error: d.refused}
	case err != nil:
		state = rejectedState(err)
	case tx != nil:
		state = tx.transactionalState(state)
	}
	if !d.settled {
		id := d.id
		settle := func() {
			if !r.ended && r.s.isOpen() {
				r.s.send(&wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), Settled: true, State: state})
			}
		}
		if d.refused == nil && err == nil && tx == nil && unknown == nil && r.repliesBeforeSettling(m) {
			m.settle = settle
		} else {
			settle()
		}
	}
	switch {
	case d.refused != nil || err != nil:
	case unknown != nil:
		c.giveIncomingBytes(m.countedBytes)
		r.answerError(m, unknown)
	default:
		m.tx, m.s = tx, r.s
		r.handler(r, m)
	}
	return nil
}

// repliesBeforeSettling reports whether the reply to a request is written before the request is
// settled, as the service does. Otherwise, Python's synchronous client, which reads one frame at a
// time while it waits for a reply, would need up to 0.2 s more for the settlement when many threads
// share the connection. Without credit for the reply a request is settled at once, because some
// clients give credit only then. A request in a transaction is settled at once too, because its
// reply may have to wait for the client's next operation.
func (r *requestLink) repliesBeforeSettling(m *request) bool {
	if r.node == cbsAddress {
		return false
	}
	to := r.s.replyLinkFor(r.node, m.replyTo)
	return to != nil && to.credit > 0
}

// enqueue queues a request, or reports false if requestCredit requests are waiting. A goroutine
// calls `serve` for one request after the other. The writer then calls the function that `serve`
// returned, with the connection's mutex held.
func (r *requestLink) enqueue(m *request, serve func(*request) func()) bool {
	c := r.s.c
	if r.queue.len() >= requestCredit {
		c.giveIncomingBytes(m.countedBytes)
		if m.settle != nil { // the request is refused at once; the frame in outFrames wakes the writer
			m.settle()
			m.settle = nil
		}
		return false
	}
	c.enqueueWork(&r.queue, func() {
		answer := serve(m)
		c.mail.call(func() {
			answer()
			c.giveIncomingBytes(m.countedBytes)
			c.releaseReplyBytes(m)
		})
	})
	return true
}

// decodeRequest decodes a request. It keeps no reference to b.
func decodeRequest(b []byte) (*request, error) {
	var m wire.Message
	var props wire.Properties
	if err := m.Decode(b); err != nil {
		return nil, err
	}
	if err := props.Decode(m.Properties); err != nil {
		return nil, err
	}
	about, err := wire.ParseMap(m.ApplicationProperties)
	if err != nil {
		return nil, err
	}
	return &request{id: props.MessageID, replyTo: props.ReplyTo.Or(""), applicationProperties: about, body: bytes.Clone(m.Body.Content())}, nil
}

// answer sends a reply with the application properties `about`. undo is called without the mutex if
// the client does not get the reply, for example because it has no link for it; undo may be nil. A
// reply that is too large for the link is replaced by an error.
func (r *requestLink) answer(m *request, about value.Properties, body []byte, undo func()) {
	p := reply{correlationID: m.id, applicationProperties: about, body: body}
	t := encodedReply{p.encode(), undo, m.settle}
	to := r.s.replyLinkFor(r.node, m.replyTo)
	switch {
	case to == nil:
		t.settleRequest()
		r.s.c.queueWriterWork(t.undoIfLost)
	case uint64(len(t.message)) > to.maxReplySize && body != nil:
		r.s.c.queueWriterWork(t.undoIfLost)
		r.answerError(m, replyTooLarge(int64(len(t.message)), int64(to.maxReplySize)))
	default:
		to.enqueueReply(t)
	}
}

func replyTooLarge(n, most int64) error {
	return engine.Refuse(engine.ErrTooLarge, "The answer would have %d bytes; at most %d are allowed. Request less at a time.", n, most)
}
