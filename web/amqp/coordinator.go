package amqp

import (
	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

const (
	coordinatorCredit = 100
	mostCoordinated   = 4 << 10 // bytes of a declare or discharge with what is around it
)

// A coordinator is a link that a client declares and discharges transactions on
// (AMQP 1.0 part 4, 4.3). When it ends, those that were declared on it do.
type coordinator struct {
	s      *session
	handle uint32
	over   bool

	count, credit, waiting uint32
	coming                 arrival
}

// capabilities are what transactions can do here: they belong to a connection, and
// any of its sessions can take part in any of them.
func capabilities() []string {
	return []string{"amqp:local-transactions", "amqp:multi-txns-per-ssn", "amqp:multi-ssns-per-txn"}
}

func (s *session) attachCoordinator(a *wire.Attach) {
	limits := s.c.b.Limits()
	if err := limits.CheckTransactions(); err != nil {
		s.refuse(a, asError(err))
		return
	}
	co := &coordinator{s: s, handle: a.Handle, count: a.InitialDeliveryCount.Or(0), credit: coordinatorCredit}
	s.join(a, co)
	answer := s.answer(a)
	answer.Coordinator = &wire.Coordinator{Capabilities: capabilities()}
	s.send(answer)
	co.top()
}

func (co *coordinator) top() {
	co.s.sendFlow(&wire.Flow{Handle: wire.Some(co.handle), DeliveryCount: wire.Some(co.count), LinkCredit: wire.Some(co.credit)})
}

func (co *coordinator) flow(f *wire.Flow) {
	if f.Echo {
		co.top()
	}
}

func (co *coordinator) end(engine.Closed) func() {
	co.over = true
	co.coming.over(co.s.c)
	co.s.c.endTransactions(co)
	return nil
}

func (co *coordinator) transfer(t *wire.Transfer) error {
	d, c := &co.coming, co.s.c
	begins, why := d.merge(t)
	if why == nil && begins && co.credit == 0 {
		why = &wire.Error{Condition: wire.CondTransferLimitExceeded, Description: "The link has no credit for more messages."}
	}
	if why != nil {
		co.s.detach(co.handle, why)
		return nil
	}
	if begins {
		co.count++
		co.credit--
		co.waiting++
	}
	switch {
	case t.Aborted:
		d.over(c)
		co.answered()
		return nil
	case d.size > mostCoordinated:
		d.refuse(c, tooLarge(mostCoordinated))
	case t.More:
		if err := d.keep(c, t.Payload); err != nil {
			d.refuse(c, asError(err))
		}
	}
	if t.More {
		return nil
	}
	if d.refused != nil {
		co.answer(d.id, d.settled, wire.Rejected{Error: d.refused})
	} else if err := co.serve(d.id, d.settled, d.whole(t.Payload)); err != nil {
		co.answer(d.id, d.settled, rejected(err))
	}
	d.over(c)
	return nil
}

// serve does what a message says, which is a declare or a discharge. Its error is
// for the client.
func (co *coordinator) serve(id uint32, settled bool, message []byte) error {
	var m wire.Message
	if err := m.Decode(message); err != nil {
		return err //nolint:wrapcheck // a ProtocolError
	}
	if m.Body.Kind != wire.ValueBody {
		return &wire.ProtocolError{Condition: wire.CondInvalidField, Text: "A declare or a discharge is an amqp-value."}
	}
	body := m.Body.Content()
	code, err := wire.CodeOf(body)
	switch {
	case err != nil:
		return err //nolint:wrapcheck // a ProtocolError
	case code == wire.CodeDeclare:
		var d wire.Declare
		if err := d.Decode(body); err != nil {
			return err //nolint:wrapcheck // likewise
		}
		co.declare(id, settled)
	case code == wire.CodeDischarge:
		var d wire.Discharge
		if err := d.Decode(body); err != nil {
			return err //nolint:wrapcheck // likewise
		}
		co.discharge(id, settled, d)
	default:
		return &wire.ProtocolError{Condition: wire.CondNotImplemented, Text: "A coordinator takes a declare or a discharge."}
	}
	return nil
}

// answer tells the client what became of its message; state nil: nothing.
func (co *coordinator) answer(id uint32, settled bool, state wire.State) {
	if co.over {
		return
	}
	if !settled && state != nil {
		co.s.send(&wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), Settled: true, State: state})
	}
	co.answered()
}

func (co *coordinator) answered() {
	if co.waiting--; co.credit <= coordinatorCredit/2 {
		co.credit = coordinatorCredit - co.waiting
		co.top()
	}
}
