package amqp

import (
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
	s.attachRequests(a, cbs, (*requests).token)
}

// requests is a link that a client sends requests on.
type requests struct {
	passed
	s      *session
	handle uint32
	node   string // in lower case
	path   engine.Path
	serve  func(r *requests, m *request)

	count, credit uint32
	delivery      incoming
	line          []*request // of a $management, to be served; the first is
}

// request is one request.
type request struct {
	id      value.Value // of the message; the answer's correlation-id
	replyTo string
	about   value.Properties // application properties
	body    []byte           // the encoded value; nil: none
}

const requestCredit = 1_000

// mostRequest is the largest request: one that schedules a message of the
// largest size, and what is around it.
const mostRequest = 101 << 20

func (s *session) attachRequests(a *wire.Attach, node string, serve func(*requests, *request)) *requests {
	r := &requests{s: s, handle: a.Handle, node: node, serve: serve, credit: requestCredit}
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

func (r *requests) end(engine.Closed) func() { return nil }

func (r *requests) transfer(t *wire.Transfer) error {
	d := &r.delivery
	if !d.begun {
		id, ok := t.DeliveryID.Get()
		if !ok {
			return &wire.ProtocolError{Condition: wire.CondInvalidField, Text: "The first transfer of a delivery has no delivery-id."}
		}
		*d = incoming{begun: true, id: id}
		r.count++
		r.messages++
		if r.credit--; r.credit <= requestCredit/2 {
			r.credit = requestCredit
			r.top()
		}
	}
	d.settled = d.settled || t.Settled.Or(false)
	if t.Aborted {
		*d = incoming{}
		return nil
	}
	d.size += uint64(len(t.Payload))
	if d.size > mostRequest && d.refused == nil {
		d.refused, d.bytes = tooLarge(mostRequest), nil
	}
	if d.refused == nil {
		d.bytes = append(d.bytes, t.Payload...)
	}
	if t.More {
		return nil
	}
	whole := *d
	*d = incoming{}
	var state wire.State = wire.Accepted{}
	m, err := readRequest(whole.bytes)
	switch {
	case whole.refused != nil:
		state = wire.Rejected{Error: whole.refused}
	case err != nil:
		state = rejected(err)
	}
	if !whole.settled {
		r.s.send(&wire.Disposition{Role: wire.RoleReceiver, First: whole.id, Last: wire.Some(whole.id), Settled: true, State: state})
	}
	if _, ok := state.(wire.Accepted); ok {
		r.serve(r, m)
	}
	return nil
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
	return &request{id: props.MessageID, replyTo: props.ReplyTo.Or(""), about: about, body: m.Body.Content()}, nil
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
