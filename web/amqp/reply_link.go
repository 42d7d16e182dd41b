package amqp

import (
	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// A replyLink is a link on which a client receives replies of $cbs or $management. They
// are sent settled, when the client gives credit.
type replyLink struct {
	queueState   queueState
	s            *session
	handle       uint32
	name         string // as nameKey returns it
	target       string // the address for replies, as nameKey returns it
	maxReplySize uint64 // maximum size of a reply in bytes: the lesser of the server's and the client's
	node         string // address of the node, in lower case
	attachOrder  uint64 // order of attaching on the connection

	deliveryCount, credit uint32
	drain                 bool // the client wants its credit to be used up
	queue                 []encodedReply
	splitter              *wire.Splitter
	current               encodedReply // the reply that splitter is sending
}

// An encodedReply is a reply that is ready to be sent.
type encodedReply struct {
	message []byte
	undo    func() // called without the mutex if the client does not get the whole reply; may be nil
	settle  func() // settles the request after the reply, with the mutex held; nil once it is settled
}

// settleRequest settles the request, unless it is settled already. Called with mu held.
func (t *encodedReply) settleRequest() {
	if t.settle != nil {
		t.settle()
		t.settle = nil
	}
}

func (s *session) attachReplyLink(a *wire.Attach, node string) {
	s.c.replyLinkCount++
	r := &replyLink{s: s, handle: a.Handle, name: nameKey(a.Name), node: node, attachOrder: s.c.replyLinkCount, maxReplySize: s.c.maxOutgoingMessage()}
	if takes := a.MaxMessageSize.Or(0); takes > 0 {
		r.maxReplySize = min(r.maxReplySize, takes)
	}
	if a.Target != nil {
		r.target = nameKey(a.Target.Address.Or(""))
	}
	s.addLink(a, r, 0)
	answer := s.attachAnswer(a)
	if answer.SenderSettleMode == wire.Some(wire.SenderUnsettled) {
		answer.SenderSettleMode = wire.Some(wire.SenderSettled) // replies are always settled
	}
	s.send(answer)
}

func (r *replyLink) sendQueueState() *queueState { return &r.queueState }

func (r *replyLink) handleFlow(f *wire.Flow) {
	if credit, ok := f.LinkCredit.Get(); ok {
		r.credit = creditLeft(credit, r.deliveryCount-f.DeliveryCount.Or(0))
	}
	r.drain = f.Drain
	if f.Echo && !f.Drain {
		r.sendFlow()
	}
	r.s.c.queueToSend(r)
}

func (r *replyLink) sendFlow() {
	r.s.sendFlow(&wire.Flow{Handle: wire.Some(r.handle), DeliveryCount: wire.Some(r.deliveryCount), LinkCredit: wire.Some(r.credit), Drain: r.drain})
}

func (r *replyLink) handleTransfer(*wire.Transfer) error { return errTransferToReceiver() }

// end drops the replies that the client has not received completely, and undoes them.
func (r *replyLink) end(engine.DetachReason) func() {
	lost := append(r.queue, r.current)
	r.queue, r.splitter, r.current, r.drain = nil, nil, encodedReply{}, false
	for i := range lost {
		r.s.c.subtractQueuedReplyBytes(len(lost[i].message))
		lost[i].settleRequest()
	}
	return func() {
		for _, t := range lost {
			t.undoIfLost()
		}
	}
}

// undoIfLost undoes the call whose reply the client does not get, if the call can be undone.
func (t encodedReply) undoIfLost() {
	if t.undo != nil {
		t.undo()
	}
}

// enqueueReply queues a reply. It drops the oldest replies of the link while the link has more than
// maxReplies, or the connection's queued replies have more than maxQueuedReplyBytes. The new reply
// is only dropped if the others already have more.
func (r *replyLink) enqueueReply(t encodedReply) {
	c := r.s.c
	if uint64(len(r.queue)) >= uint64(r.credit) || r.s.remoteIncomingWindow == 0 {
		t.settleRequest() // the reply waits for the client, which may wait for the settlement
	}
	r.queue = append(r.queue, t)
	n := len(t.message)
	c.queuedReplyBytes += n
	for len(r.queue) > maxReplies || c.queuedReplyBytes > maxQueuedReplyBytes && len(r.queue) > 1 || c.queuedReplyBytes-n > maxQueuedReplyBytes && len(r.queue) > 0 {
		r.dropFirst()
	}
	c.queueToSend(r)
}

// dropFirst drops the first queued reply and undoes its call.
func (r *replyLink) dropFirst() {
	t := r.dequeue()
	r.s.c.subtractQueuedReplyBytes(len(t.message))
	t.settleRequest()
	r.s.c.queueWriterWork(t.undoIfLost)
}

// dequeue removes the first reply from the queue.
func (r *replyLink) dequeue() encodedReply {
	t := r.queue[0]
	r.queue[0], r.queue = encodedReply{}, r.queue[1:]
	return t
}

// writeTransfer appends the next transfer of a reply, if there is a reply, credit for it, and room
// in the session's window.
func (r *replyLink) writeTransfer(buf []byte) (_ []byte, wrote bool) {
	s := r.s
	if r.splitter == nil && (len(r.queue) == 0 || r.credit == 0) {
		return buf, false
	}
	if s.remoteIncomingWindow == 0 {
		s.blockOnWindow(r)
		return buf, false
	}
	if r.splitter == nil {
		id := s.nextDeliveryID
		s.nextDeliveryID++
		r.deliveryCount++
		r.credit--
		r.current = r.dequeue()
		r.splitter = &wire.Splitter{
			Transfer: wire.Transfer{
				Handle: r.handle, DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)},
				MessageFormat: wire.Some[uint32](0), Settled: wire.Some(true),
			},
			Channel: s.channel, MaxFrame: s.c.peer.maxFrame, Body: r.current.message,
		}
	}
	next, err := r.splitter.Next(buf)
	if err != nil { // the client's frames are too small for a transfer
		s.c.close(errorOf(err))
		s.c.queueWriterWork(r.end(engine.DetachedLost))
		return buf, false
	}
	s.remoteIncomingWindow--
	s.nextOutgoingID++
	if r.splitter.Done() {
		s.c.subtractQueuedReplyBytes(len(r.current.message))
		r.current.settleRequest()
		r.splitter, r.current = nil, encodedReply{}
	}
	return next, true
}

// nothingToWrite answers the client's drain when no reply can be written, by using up its credit.
// It always returns nil.
func (r *replyLink) nothingToWrite() func() {
	if r.drain && r.splitter == nil && (r.credit == 0 || len(r.queue) == 0) {
		r.deliveryCount += r.credit
		r.credit = 0
		r.sendFlow()
		r.drain = false
	}
	return nil
}

// replyLinkFor returns the link to `node` on which the client gets the reply to a request, or nil.
// Of several links, it prefers those whose target or name is `replyTo`, then those in the session
// of the request, then a matching target over a matching name, then the latest link. The old SDK
// for Java has its two links in two sessions.
func (s *session) replyLinkFor(node, replyTo string) *replyLink {
	var best *replyLink
	fit := 0
	wanted := nameKey(replyTo)
	for _, at := range s.c.sessions {
		for _, l := range at.links {
			r, ok := l.link.(*replyLink)
			if !ok || r.node != node {
				continue
			}
			n := 0
			switch {
			case replyTo == "":
			case r.target == wanted:
				n = 3
			case r.name == wanted:
				n = 2
			}
			if at == s {
				n += min(n, 1) + 1 // Java's SDKs use one address in several sessions
			}
			if best == nil || n > fit || n == fit && r.attachOrder > best.attachOrder {
				best, fit = r, n
			}
		}
	}
	return best
}

// A reply is the content of the reply to a request.
type reply struct {
	correlationID         value.Value // the request's message-id
	applicationProperties value.Properties
	body                  []byte // an encoded value; nil for null
}

func (p *reply) encode() []byte {
	props := wire.Properties{CorrelationID: p.correlationID}
	b := props.Append(nil)
	b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, p.applicationProperties)
	body := p.body
	if body == nil {
		body = []byte{0x40}
	}
	return wire.AppendSection(b, wire.SectionValue, body)
}
