package amqp

import (
	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

const (
	coordinatorCredit     = 100
	maxCoordinatorMessage = 4 << 10 // maximum size in bytes of a declare or discharge message
)

// A coordinator is a link on which a client declares and discharges transactions (AMQP
// 1.0 part 4, 4.3). When it ends, the transactions that were declared on it are rolled
// back.
type coordinator struct {
	s      *session
	handle uint32
	ended  bool

	deliveryCount, credit uint32
	unansweredDeliveries
	partial partialDelivery
}

// transactionCapabilities are the capabilities of a coordinator: transactions belong to a
// connection, and each of its sessions can take part in any of them.
var transactionCapabilities = []string{
	"amqp:local-transactions", "amqp:multi-txns-per-ssn", "amqp:multi-ssns-per-txn",
}

func (s *session) attachCoordinator(a *wire.Attach) {
	limits := s.c.b.Limits()
	if err := limits.CheckTransactions(); err != nil {
		s.refuseAttach(a, errorOf(err))
		return
	}
	co := &coordinator{s: s, handle: a.Handle, deliveryCount: a.InitialDeliveryCount.Or(0), credit: coordinatorCredit}
	s.addLink(a, co, 0)
	answer := s.attachAnswer(a)
	answer.Coordinator = &wire.Coordinator{Capabilities: transactionCapabilities}
	s.send(answer)
	co.sendCredit()
}

func (co *coordinator) sendCredit() {
	co.s.sendFlow(&wire.Flow{Handle: wire.Some(co.handle), DeliveryCount: wire.Some(co.deliveryCount), LinkCredit: wire.Some(co.credit)})
}

func (co *coordinator) handleFlow(f *wire.Flow) {
	if f.Echo {
		co.sendCredit()
	}
}

func (co *coordinator) end(engine.DetachReason) func() {
	co.ended = true
	if co.partial.begun { // it will not be completed
		co.unansweredDeliveries.countAnswer()
	}
	co.partial.finish(co.s.c)
	co.s.c.endTransactions(co)
	return nil
}

func (co *coordinator) handleTransfer(t *wire.Transfer) error {
	d, c := &co.partial, co.s.c
	begins, why := d.addTransfer(t)
	if why == nil && begins && co.credit == 0 {
		why = &wire.Error{Condition: wire.CondTransferLimitExceeded, Description: "The link has no credit for more messages."}
	}
	if why != nil {
		co.s.detachForViolation(co.handle, why)
		return nil
	}
	if begins {
		co.deliveryCount++
		co.credit--
		co.unanswered++
	}
	switch {
	case t.Aborted:
		d.finish(c)
		co.countAnswer()
		return nil
	case d.size > maxCoordinatorMessage:
		d.refuse(c, tooLargeError(maxCoordinatorMessage))
	case t.More:
		if err := d.bufferPiece(c, t.Payload); err != nil {
			d.refuse(c, errorOf(err))
		}
	}
	if t.More {
		return nil
	}
	if d.refused != nil {
		co.answer(d.id, d.settled, wire.Rejected{Error: d.refused})
	} else if err := co.serve(d.id, d.settled, d.payload(t.Payload)); err != nil {
		co.answer(d.id, d.settled, rejectedState(err))
	}
	d.finish(c)
	return nil
}

// serve handles a message, which is a declare or a discharge. Its error is for the
// client.
func (co *coordinator) serve(id uint32, settled bool, message []byte) error {
	var m wire.Message
	if err := m.Decode(message); err != nil {
		return err
	}
	if m.Body.Kind != wire.ValueBody {
		return &wire.ProtocolError{Condition: wire.CondInvalidField, Text: "A declare or discharge must be an amqp-value."}
	}
	body := m.Body.Content()
	code, err := wire.CodeOf(body)
	switch {
	case err != nil:
		return err
	case code == wire.CodeDeclare:
		var d wire.Declare
		if err := d.Decode(body); err != nil {
			return err
		}
		co.declare(id, settled)
	case code == wire.CodeDischarge:
		var d wire.Discharge
		if err := d.Decode(body); err != nil {
			return err
		}
		co.discharge(id, settled, d)
	default:
		return &wire.ProtocolError{Condition: wire.CondNotImplemented, Text: "A coordinator accepts only declare and discharge."}
	}
	return nil
}

// answer sends the client the outcome of its message, unless state is nil or the client has sent
// the message settled.
func (co *coordinator) answer(id uint32, settled bool, state wire.State) {
	s := co.s
	if heard := !co.ended || co.whenAnswered != nil; heard && !settled && state != nil && s.c.sessions[s.channel] == s {
		s.send(&wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), Settled: true, State: state})
	}
	co.countAnswer()
}

func (co *coordinator) countAnswer() {
	if co.unansweredDeliveries.countAnswer(); !co.ended && co.credit <= coordinatorCredit/2 {
		co.credit = coordinatorCredit - co.unanswered
		co.sendCredit()
	}
}
