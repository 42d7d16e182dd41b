package amqp

import (
	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// A responder is a link that a client hears answers on: of $cbs, of $management.
// They are written settled, when it has credit for them.
type responder struct {
	s      *session
	handle uint32
	name   string
	target string // its address, where the client wants answers to go to
	node   string // whose answers, in lower case

	count, limit uint32
	queue        [][]byte // encoded messages
}

// mostReplies is how many answers wait for credit before the oldest goes.
const mostReplies = 1_000

func (s *session) attachResponder(a *wire.Attach, node string) {
	r := &responder{s: s, handle: a.Handle, name: a.Name, node: node}
	if a.Target != nil {
		r.target = a.Target.Address.Or("")
	}
	s.join(a.Handle, r)
	s.send(s.answer(a))
}

func (r *responder) flow(f *wire.Flow) {
	r.limit = f.DeliveryCount.Or(0) + f.LinkCredit.Or(0)
	r.write()
	if f.Drain {
		r.count = r.limit
		r.s.sendFlow(&wire.Flow{Handle: wire.Some(r.handle), DeliveryCount: wire.Some(r.count), LinkCredit: wire.Some[uint32](0), Drain: true})
	} else if f.Echo {
		r.s.sendFlow(&wire.Flow{Handle: wire.Some(r.handle), DeliveryCount: wire.Some(r.count), LinkCredit: wire.Some(r.limit - r.count)})
	}
}

func (r *responder) transfer(*wire.Transfer) error {
	return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: "A transfer came on a link that the client receives on."}
}

func (r *responder) end(engine.Closed) func() { return nil }

// send has an answer be written.
func (r *responder) send(message []byte) {
	if len(r.queue) >= mostReplies {
		r.queue[0], r.queue = nil, r.queue[1:]
	}
	r.queue = append(r.queue, message)
	r.write()
}

// write makes transfers of what there is credit for. Answers are small, but for
// peeked messages; those that do not fit the session's window wait for a flow.
func (r *responder) write() {
	s := r.s
	for len(r.queue) > 0 && int32(r.limit-r.count) > 0 {
		m := r.queue[0]
		if uint64(s.outgoing)*uint64(s.c.peer.maxFrame/2) < uint64(len(m)) {
			return
		}
		r.queue[0], r.queue = nil, r.queue[1:]
		id := s.nextID
		s.nextID++
		r.count++
		split := wire.Splitter{
			Transfer: wire.Transfer{
				Handle: r.handle, DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)},
				MessageFormat: wire.Some[uint32](0), Settled: wire.Some(true),
			},
			Channel: s.channel, MaxFrame: s.c.peer.maxFrame, Body: m,
		}
		for !split.Done() {
			var err error
			if s.c.out, err = split.Next(s.c.out); err != nil {
				return
			}
			s.outgoing--
			s.nextOutgoing++
		}
	}
}

// responderFor is where the answer to a request goes: the client's link in the
// same session whose target is replyTo, or whose name is, or else the latest of
// the node (§4.1).
func (s *session) responderFor(node, replyTo string) *responder {
	var named, latest *responder
	for _, l := range s.links {
		r, ok := l.(*responder)
		if !ok || r.node != node {
			continue
		}
		switch {
		case replyTo != "" && r.target == replyTo:
			return r
		case replyTo != "" && r.name == replyTo:
			named = r
		case latest == nil || r.handle > latest.handle:
			latest = r
		}
	}
	if named != nil {
		return named
	}
	return latest
}

// A reply is an answer to a request.
type reply struct {
	to    value.Value      // the request's message-id
	about value.Properties // application properties
	body  []byte           // an encoded value; nil: null
}

func (p *reply) encode() []byte {
	props := wire.Properties{CorrelationID: p.to}
	b := props.Append(nil)
	b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, p.about)
	body := p.body
	if body == nil {
		body = []byte{0x40}
	}
	return wire.AppendSection(b, wire.SectionValue, body)
}
