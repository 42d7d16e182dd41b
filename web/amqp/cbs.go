package amqp

import (
	"bytes"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

const cbs = "$cbs"

// attachCBS attaches one of the pair of links that tokens come on.
func (s *session) attachCBS(a *wire.Attach) {
	if a.Role == wire.RoleReceiver {
		s.attachResponder(a, cbs)
		return
	}
	for _, other := range s.c.sessions {
		for _, l := range other.links {
			if r, ok := l.link.(*requests); ok && r.node == cbs {
				s.refuse(a, &wire.Error{Condition: wire.CondNotAllowed, Description: "The connection has a link to $cbs already."})
				return
			}
		}
	}
	s.attachRequests(a, cbs, mostToken, (*requests).token)
}

// requests is a link that a client sends requests on.
type requests struct {
	passed
	s      *session
	handle uint32
	node   string // in lower case
	path   engine.Path
	most   uint64 // bytes of a request
	serve  func(r *requests, m *request)

	count, credit uint32
	coming        arrival
	line          line // of requests to be served
}

// request is one request.
type request struct {
	id      value.Value // of the message; the answer's correlation-id
	replyTo string
	about   value.Properties // application properties
	body    []byte           // the encoded value; nil: none
	tx      *transaction     // that it is part of; nil: none
	kept    int64            // bytes that are counted for it until it is answered
	making  int64            // bytes that are counted for its answer until that is made
}

const (
	requestCredit = 1_000

	// mostRequest is how many bytes a request may have: it schedules a message of
	// the largest size, with what is around it.
	mostRequest = 101 << 20

	// mostToken is the same for a token, which anybody may send.
	mostToken = 64 << 10

	// requestCost is what a request that waits takes besides its bytes.
	requestCost = 4 << 10
)

func (s *session) attachRequests(a *wire.Attach, node string, most uint64, serve func(*requests, *request)) *requests {
	r := &requests{s: s, handle: a.Handle, node: node, most: most, serve: serve, credit: requestCredit}
	s.join(a, r)
	s.send(s.answer(a))
	r.top()
	return r
}

func (r *requests) top() {
	r.s.sendFlow(&wire.Flow{Handle: wire.Some(r.handle), DeliveryCount: wire.Some(r.count), LinkCredit: wire.Some(r.credit)})
}

func (r *requests) flow(f *wire.Flow) {
	if f.Echo {
		r.top()
	}
}

func (r *requests) end(engine.Closed) func() {
	r.coming.over(r.s.c)
	return nil
}

func (r *requests) transfer(t *wire.Transfer) error {
	d, c := &r.coming, r.s.c
	begins, why := d.merge(t)
	if why == nil && begins && r.credit == 0 {
		why = &wire.Error{Condition: wire.CondTransferLimitExceeded, Description: "The link has no credit for more messages."}
	}
	if why != nil {
		r.s.detach(r.handle, why)
		return nil
	}
	if begins {
		r.count++
		r.messages++
		if r.credit--; r.credit <= requestCredit/2 {
			r.credit = requestCredit
			r.top()
		}
	}
	switch {
	case t.Aborted:
		d.over(c)
		return nil
	case d.size > r.most:
		d.refuse(c, tooLarge(r.most))
	case t.More && d.refused == nil:
		if err := d.keep(c, t.Payload); err != nil {
			d.refuse(c, asError(err))
		}
	}
	if t.More {
		return nil
	}
	defer d.over(c)
	var state wire.State = wire.Accepted{}
	var m *request
	tx, unknown := c.transactionOf(d.state) // which is an answer like any other
	var err error
	if d.refused == nil {
		m, err = readRequest(d.whole(t.Payload))
	}
	if err == nil && d.refused == nil {
		d.forget(c) // the request has copies
		m.kept = int64(d.size) + requestCost
		err = c.keep(m.kept)
	}
	switch {
	case d.refused != nil:
		state = wire.Rejected{Error: d.refused}
	case err != nil:
		state = rejected(err)
	case tx != nil:
		state = tx.state(state)
	}
	if !d.settled {
		r.s.send(&wire.Disposition{Role: wire.RoleReceiver, First: d.id, Last: wire.Some(d.id), Settled: true, State: state})
	}
	switch {
	case d.refused != nil || err != nil:
	case unknown != nil:
		c.unkeep(m.kept)
		r.refuse(m, unknown)
	default:
		m.tx = tx
		r.serve(r, m)
	}
	return nil
}

// wait has a request be served behind those that wait, unless they are too many,
// and what serve returns be called with the connection's mutex held.
func (r *requests) wait(m *request, serve func(*request) func()) bool {
	c := r.s.c
	if r.line.len() >= requestCredit {
		c.unkeep(m.kept)
		return false
	}
	c.enter(&r.line, func() {
		answer := serve(m)
		c.mail.do(func() {
			answer()
			c.unkeep(m.kept)
			c.leaveRoom(m)
		})
	})
	return true
}

// readRequest reads a request. It keeps nothing of b.
func readRequest(b []byte) (*request, error) {
	var m wire.Message
	var props wire.Properties
	if err := m.Decode(b); err != nil {
		return nil, err //nolint:wrapcheck // a ProtocolError
	}
	if err := props.Decode(m.Properties); err != nil {
		return nil, err //nolint:wrapcheck // a ProtocolError
	}
	about, err := wire.ParseMap(m.ApplicationProperties)
	if err != nil {
		return nil, err //nolint:wrapcheck // a ProtocolError
	}
	return &request{id: props.MessageID, replyTo: props.ReplyTo.Or(""), about: about, body: bytes.Clone(m.Body.Content())}, nil
}

// answer has a reply be written on the link that the client wants it on, if that
// is there.
func (r *requests) answer(m *request, about value.Properties, body []byte) {
	to := r.s.responderFor(r.node, m.replyTo)
	if to == nil {
		return
	}
	p := reply{to: m.id, about: about, body: body}
	to.send(p.encode())
}
