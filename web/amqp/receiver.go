package amqp

import (
	"errors"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
)

const (
	// receiverCredit is how many unanswered messages a client may send on a link, and
	// largeMessageCredit the same on a link whose messages may be larger than a megabyte.
	receiverCredit     = 1_000
	largeMessageCredit = 100

	// maxEnvelope is how many bytes an encoded message may have beyond the limit on
	// messages, which does not count all of the encoding.
	maxEnvelope = 128 << 10
)

// A receiver is a link on which a client sends to an entity. An incomplete delivery is kept in
// memory, unless it is large: then its data goes to the store as it arrives. See incomingDelivery.
type receiver struct {
	messageCount
	linkUse
	s              *session
	handle         uint32
	path           engine.Path // the link's entity
	destination    engine.Path // destination of messages that go through path to another entity; may be empty
	maxMessageSize uint64      // maximum size of a message in bytes
	initialCredit  uint32      // credit while no message is unanswered
	ended          bool

	deliveryCount uint32 // the client's initial value plus the number of deliveries that have arrived
	credit        uint32 // messages that the client may still send
	unansweredDeliveries

	partial          partialDelivery   // the incomplete delivery
	streaming        *incomingDelivery // the incomplete delivery, if it is streamed; otherwise nil
	submitQueue      workQueue         // messages to be submitted in order
	submitQueueBytes int64             // bytes of queued complete messages
}

// transferDestination is a property of a link to an entity through which messages go to
// another entity (FWD-14).
const transferDestination = "com.microsoft:transfer-destination-address"

func (s *session) attachReceiver(a *wire.Attach, path engine.Path, size int) {
	in := &receiver{s: s, handle: a.Handle, path: path, deliveryCount: a.InitialDeliveryCount.Or(0)}
	if v, ok := a.Properties.Lookup(transferDestination); ok {
		beyond, ok := v.Str()
		if in.destination, _ = parseAddress(beyond); !ok || in.destination == "" {
			s.refuseAttach(a, &wire.Error{Condition: wire.CondInvalidField, Description: "The property " + transferDestination + " must be the name of an entity."})
			return
		}
	}
	s.addLink(a, in, size)
	s.c.attachAsync(func() func() {
		until, beyond, err := in.checkRights()
		var most int64
		if err == nil {
			most, err = in.lookUpMaxSize()
		}
		return func() {
			switch {
			case in.ended: // the link has ended meanwhile
			case err != nil:
				in.ended = true
				s.removeLink(a.Handle)
				s.refuseAttach(a, errorOf(err))
			default:
				s.c.detachAtExpiry(s, a.Handle, in, path, engine.SendRight, until)
				if in.destination != "" {
					s.c.detachAtExpiry(s, a.Handle, in, in.destination, engine.SendRight, beyond)
				}
				in.answerAttach(a, uint64(most))
			}
		}
	})
}

// checkRights returns the times until which the client may send to in.path and in.destination, or
// an error if it may not. The zero time means forever.
func (in *receiver) checkRights() (until, beyond time.Time, err error) {
	c := in.s.c
	if until, err = c.checkRight(c.ctx, in.path, engine.SendRight); err == nil && in.destination != "" {
		beyond, err = c.checkRight(c.ctx, in.destination, engine.SendRight)
	}
	return until, beyond, err
}

// lookUpMaxSize returns the maximum size of messages in bytes, the lesser of those of path and
// destination. A disabled destination is no error here, because that is checked for each message
// (FWD-14).
func (in *receiver) lookUpMaxSize() (most int64, err error) {
	c := in.s.c
	err = c.b.Read(c.ctx, func(r broker.Reader) error {
		var err error
		if most, err = r.MaxMessageSize(in.path); err != nil || in.destination == "" {
			return err
		}
		there, err := r.MaxMessageSize(in.destination)
		if errors.Is(err, engine.ErrDisabled) {
			return nil
		}
		most = min(most, there)
		return err
	})
	return most, err
}

// answerAttach answers the attach and gives credit. `most` is the maximum size of a message in
// bytes.
func (in *receiver) answerAttach(a *wire.Attach, most uint64) {
	in.s.attachAnswered(in.handle)
	in.s.transactionScope.linkAttached(in.path, in.s.links[in.handle].attachNumber, false)
	in.maxMessageSize, in.initialCredit = most, receiverCredit
	if most > 1<<20 {
		in.initialCredit = largeMessageCredit
	}
	answer := in.s.attachAnswer(a)
	answer.MaxMessageSize, answer.Properties = wire.Some(most), in.s.batchSizeProperties(most)
	in.s.send(answer)
	in.credit = in.initialCredit
	in.s.c.setLinkUse(&in.linkUse, linkUse{attached: true, hasCredit: true}) // the client has credit, or waits for the server's
	in.sendCredit()
}

// sendCredit sends the client its credit.
func (in *receiver) sendCredit() {
	in.s.sendFlow(&wire.Flow{Handle: wire.Some(in.handle), DeliveryCount: wire.Some(in.deliveryCount), LinkCredit: wire.Some(in.credit)})
}

// handleFlow answers the client's flow if it has echo set. It ignores the credit in it, because
// only the receiver of messages gives credit.
func (in *receiver) handleFlow(f *wire.Flow) {
	if f.Echo && in.initialCredit > 0 {
		in.sendCredit()
	}
}

// end drops the incomplete delivery. Deliveries that are complete still go to the broker.
func (in *receiver) end(engine.DetachReason) func() {
	in.ended = true
	if in.partial.begun { // it will not be completed
		in.unansweredDeliveries.countAnswer()
	}
	if in.streaming != nil {
		in.streaming.breakOffData(errDeliveryBrokenOff)
		in.streaming = nil
	}
	in.partial.finish(in.s.c)
	return nil
}

func (in *receiver) handleTransfer(t *wire.Transfer) error {
	d, c := &in.partial, in.s.c
	begins, why := d.addTransfer(t)
	if why == nil && begins && in.credit == 0 {
		why = &wire.Error{Condition: wire.CondTransferLimitExceeded, Description: "The link has no credit for more messages."}
	}
	if why != nil {
		in.s.detachForViolation(in.handle, why)
		return nil
	}
	if begins {
		in.deliveryCount++
		in.credit--
		in.unanswered++
	}
	if t.Aborted {
		in.abortDelivery()
		return nil
	}
	if d.size > in.maxMessageSize+maxEnvelope {
		in.refuseDelivery(tooLargeError(in.maxMessageSize))
	}
	switch {
	case !t.More:
		in.completeDelivery(t.Payload)
	case d.refused != nil: // dropped as it arrives
	case in.streaming != nil:
		in.streamPiece(t.Payload)
	default:
		if err := d.bufferPiece(c, t.Payload); err != nil {
			in.refuseDelivery(errorOf(err))
		} else if len(d.bytes) > streamThreshold && d.format == wire.FormatMessage && !d.neverStreamed {
			in.beginStream()
		}
	}
	return nil
}

// refuseDelivery drops what has arrived of the delivery, and each further piece when it arrives.
// The client gets why after the last one, because some clients do not read an earlier answer.
func (in *receiver) refuseDelivery(why *wire.Error) {
	in.partial.refuse(in.s.c, why)
	if in.streaming != nil {
		in.streaming.breakOffData(errDeliveryBrokenOff)
	}
}

// abortDelivery drops a delivery that the client has aborted, which settles it.
func (in *receiver) abortDelivery() {
	if in.streaming != nil {
		in.streaming.breakOffData(errDeliveryBrokenOff)
		in.streaming = nil
	}
	in.partial.finish(in.s.c)
	in.countAnswer()
}

// completeDelivery sends the delivery to the broker, or the client its refusal. `last` is its last
// piece.
func (in *receiver) completeDelivery(last []byte) {
	d, c := &in.partial, in.s.c
	defer d.finish(c)
	if m := in.streaming; m != nil {
		if d.refused == nil {
			in.streamPiece(last)
		}
		in.streaming = nil
		in.messages++
		m.lastTransfer(d)
		return
	}
	t, err := c.transactionOf(d.state)
	if d.refused != nil {
		t.enqueueFailure(d.settled, d.refused)
		in.answerDelivery(d.id, d.settled, wire.Rejected{Error: d.refused})
		return
	}
	if err == nil {
		m := &incomingDelivery{receiver: in, id: d.id, settled: d.settled, tx: t, complete: true}
		if m.messages, err = decodeDelivery(d.format, d.payload(last)); err == nil {
			m.size = int64(d.size)
			in.messages += uint64(len(m.messages))
			d.dropBytes(c) // the messages have copies of the bytes
			err = m.enqueue()
		}
	}
	if err != nil {
		t.enqueueFailure(d.settled, errorOf(err))
		in.answerDelivery(d.id, d.settled, rejectedState(err))
	}
}

// answerDelivery sends the client the outcome of a delivery, unless the client has sent the
// delivery settled, or the link or session has ended and the client does not wait for the outcome.
func (in *receiver) answerDelivery(id uint32, settled bool, state wire.State) {
	s := in.s
	if heard := !in.ended || in.whenAnswered != nil; heard && !settled && s.c.sessions[s.channel] == s {
		s.send(&wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), Settled: true, State: state})
	}
	in.countAnswer()
}

// countAnswer counts an answer, and gives the client credit again when at least half of its credit
// is used up and enough deliveries are answered.
func (in *receiver) countAnswer() {
	if in.unansweredDeliveries.countAnswer(); in.ended {
		return
	}
	if in.credit <= in.initialCredit/2 && in.credit+in.unanswered <= in.initialCredit/2+in.initialCredit/4 {
		in.credit = in.initialCredit - in.unanswered
		in.sendCredit()
	}
}

// checkMessageFormat returns an error if messages of this format are not supported.
func checkMessageFormat(format uint32) error {
	if format == wire.FormatMessage || format == wire.FormatBatch {
		return nil
	}
	return engine.Refuse(engine.ErrNotImplemented, "Message-format 0x%x is not supported.", format)
}
