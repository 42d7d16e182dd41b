package amqp

import (
	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// A responder is a link that a client hears answers on: of $cbs, of $management.
// They are written settled, when it has credit for them.
type responder struct {
	at     place
	s      *session
	handle uint32
	name   string
	target string // its address, where the client wants answers to go to
	node   string // whose answers, in lower case
	order  uint64 // of the attaches of the connection

	count, credit uint32
	drain         bool     // the client wants its credit used up
	queue         [][]byte // encoded messages
	split         *wire.Splitter
	splits        int // bytes of what split is under way of
}

func (s *session) attachResponder(a *wire.Attach, node string) {
	s.c.attaches++
	r := &responder{s: s, handle: a.Handle, name: a.Name, node: node, order: s.c.attaches}
	if a.Target != nil {
		r.target = a.Target.Address.Or("")
	}
	s.join(a, r)
	s.send(s.answer(a))
}

func (r *responder) place() *place { return &r.at }

func (r *responder) flow(f *wire.Flow) {
	if credit, ok := f.LinkCredit.Get(); ok {
		r.credit = creditLeft(credit, r.count-f.DeliveryCount.Or(0))
	}
	r.drain = f.Drain
	if f.Echo && !f.Drain {
		r.tell()
	}
	r.s.c.line(r)
}

func (r *responder) tell() {
	r.s.sendFlow(&wire.Flow{Handle: wire.Some(r.handle), DeliveryCount: wire.Some(r.count), LinkCredit: wire.Some(r.credit), Drain: r.drain})
}

func (r *responder) transfer(*wire.Transfer) error { return errTransferToReceiver() }

func (r *responder) end(engine.Closed) func() {
	for len(r.queue) > 0 {
		r.drop()
	}
	r.s.c.hear(r.splits)
	r.queue, r.split, r.splits, r.drain = nil, nil, 0, false
	return nil
}

// send has an answer be written.
func (r *responder) send(message []byte) {
	c := r.s.c
	r.queue = append(r.queue, message)
	c.unheard += len(message)
	for len(r.queue) > mostReplies || c.unheard > mostUnheard && len(r.queue) > 1 || c.unheard-len(message) > mostUnheard && len(r.queue) > 0 {
		r.drop()
	}
	c.line(r)
}

// drop forgets the first answer.
func (r *responder) drop() { r.s.c.hear(len(r.next())) }

// next takes the first answer.
func (r *responder) next() []byte {
	m := r.queue[0]
	r.queue[0], r.queue = nil, r.queue[1:]
	return m
}

// write appends the next transfer of an answer.
func (r *responder) write(buf []byte) (_ []byte, wrote bool) {
	s := r.s
	if r.split == nil && (len(r.queue) == 0 || r.credit == 0) {
		return buf, false
	}
	if s.outgoing == 0 {
		s.sticks(r)
		return buf, false
	}
	if r.split == nil {
		id := s.nextID
		s.nextID++
		r.count++
		r.credit--
		message := r.next()
		r.splits = len(message)
		r.split = &wire.Splitter{
			Transfer: wire.Transfer{
				Handle: r.handle, DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)},
				MessageFormat: wire.Some[uint32](0), Settled: wire.Some(true),
			},
			Channel: s.channel, MaxFrame: s.c.peer.maxFrame, Body: message,
		}
	}
	next, err := r.split.Next(buf)
	if err != nil { // no frame of the client's holds a transfer
		s.c.close(asError(err))
		r.queue, r.split = nil, nil
		return buf, false
	}
	s.outgoing--
	s.nextOutgoing++
	if r.split.Done() {
		s.c.hear(r.splits)
		r.split, r.splits = nil, 0
	}
	return next, true
}

// rest ends a drain when all that there is was written.
func (r *responder) rest() func() {
	if r.drain && r.split == nil && (r.credit == 0 || len(r.queue) == 0) {
		r.count += r.credit
		r.credit = 0
		r.tell()
		r.drain = false
	}
	return nil
}

// responderFor is where the answer to a request goes: the client's link in the
// same session whose target is replyTo, or whose name is, or else any of the
// node; of several the latest.
func (s *session) responderFor(node, replyTo string) *responder {
	var best *responder
	fit := 0
	for _, l := range s.links {
		r, ok := l.link.(*responder)
		if !ok || r.node != node {
			continue
		}
		n := 1
		switch {
		case replyTo == "":
		case r.target == replyTo:
			n = 3
		case r.name == replyTo:
			n = 2
		}
		if best == nil || n > fit || n == fit && r.order > best.order {
			best, fit = r, n
		}
	}
	return best
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
